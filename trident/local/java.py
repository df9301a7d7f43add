"""Find a Java that can run Spark and Kafka, or say in one sentence what to install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from trident.base.errors import ConfigurationError

OLDEST = 17
"""The oldest Java that Spark 4 and Kafka 4 run on."""

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_RELEASE = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


def find_java() -> Path:
    """Return the `java` program of JAVA_HOME, else of PATH; may be called from anywhere.

    Raises `ConfigurationError`, with the sentence that says what to install, when it is missing or too old.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    version = _major_version(found) if found else None
    if found is None or version is None:
        raise ConfigurationError(_sentence("none was found" if found is None else f"{found} does not run"))
    if version < OLDEST:
        raise ConfigurationError(_sentence(f"{found} is version {version}"))
    return Path(found)


def home_of(java: Path) -> Path:
    """Return the folder that a `java` program is installed in."""
    return java.resolve().parent.parent


def _major_version(java: str) -> int | None:
    return _released(Path(java)) or _told(java)


def _released(java: Path) -> int | None:
    """Return what the installation says of itself: asking the program costs a start a tenth of a second."""
    try:
        match = _RELEASE.search((home_of(java) / "release").read_text(errors="replace"))
    except OSError:
        return None
    return int(match[1]) if match and os.access(java, os.X_OK) else None


def _told(java: str) -> int | None:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    except OSError:
        return None
    match = _VERSION.search(answer.stderr + answer.stdout)
    return int(match[1]) if match else None


def _sentence(problem: str) -> str:
    return (
        f"Java {OLDEST} or newer is needed and {problem}: install it (Debian, Ubuntu: "
        f"`apt-get install openjdk-{OLDEST}-jre-headless`; macOS: `brew install openjdk@{OLDEST}`) or set JAVA_HOME."
    )


def main() -> None:
    """Say nothing when Java is there; end with the sentence that says what to install when it is not."""
    try:
        find_java()
    except ConfigurationError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
