"""Spark's classes in one file that its JVM maps, instead of reading and checking them one by one at each start.

That is the JVM's own class data sharing. The file is made once, by `python -m trident.local.class_data`: there a small
topology runs, and at its end the JVM writes down what it has loaded. It knows by itself whether the file is of the very
same JVM and jars, and starts without it where it isn't. 150 MB in the cache folder; no session writes it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyspark

from trident.base.errors import ConfigurationError
from trident.local.jars import cache_folder, locked
from trident.local.java import find_java, home_of

_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
"""What the JVM would print of a file that is not for it, or while it makes one."""
_LONGEST_S = 600
_SUFFIX = ".jsa"
_PARTIAL = ".partial"


def sharing_options(java: Path) -> str:
    """Return the JVM's options for the file; "" where none was made for this Java and this PySpark."""
    archive = archive_of(java)
    if archive is None:
        return ""
    # a JVM would die of what is damaged, at any moment; looking costs a tenth of what the file saves
    return f'"-XX:SharedArchiveFile={archive}" -Xshare:auto -XX:+VerifySharedSpaces {_QUIET}'


def making_options(archive: Path) -> str:
    """Return the options of the JVM that writes the file when it ends."""
    return f'"-XX:ArchiveClassesAtExit={archive}" {_QUIET}'


def archive_of(java: Path) -> Path | None:
    """Return the file for this Java and this PySpark; None where it is not there, or not whole."""
    try:
        beginning = _beginning(java)
        found = beginning.parent.glob(f"{beginning.name}-*{_SUFFIX}")
        return next((each for each in found if each.name == _whole(beginning, each).name), None)
    except OSError:  # deleted meanwhile, or nobody may look
        return None


def _beginning(java: Path) -> Path:
    """Return the path of the file up to what says how large it is."""
    home, jars = home_of(java), Path(pyspark.__path__[0]) / "jars"
    # the JVM looks at each jar's time and size, and goes without a file that was made of others: so is its name
    known = [home / "release", home / "lib" / "modules", *sorted(jars.glob("*.jar"))]
    stats = [(file, file.stat()) for file in known if file.is_file()]
    parts = [f"{file} {stat.st_size} {stat.st_mtime_ns}" for file, stat in stats]
    return cache_folder() / f"{_family(java)}-{_digest(parts)}"


def _family(java: Path) -> str:
    """Return how the names begin of all files for one Java and one place of PySpark: one of them is in use."""
    return f"spark-{pyspark.__version__}-classes-{_digest([str(java.resolve()), pyspark.__path__[0]])}"


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _whole(beginning: Path, file: Path) -> Path:
    """Return the path under which a file of this size is taken: a JVM dies of one that was cut."""
    return beginning.with_name(f"{beginning.name}-{file.stat().st_size}{_SUFFIX}")


def make_class_data(java: Path) -> Path:
    """Make the file unless it is there, and return it; takes some twenty seconds.

    May be called from several processes at once: one makes it, the others wait. Raises `ConfigurationError` when it
    can't be made; sessions then start without it. A process that is killed meanwhile leaves one behind that ends by
    itself within half a minute, and a partial file that the next one deletes.
    """
    if (found := archive_of(java)) is not None:
        return found
    beginning = _beginning(java)
    try:
        with locked(beginning):  # another process may have made it while this one waited
            return archive_of(java) or _made(java, beginning)
    except OSError as error:
        raise ConfigurationError(_failure(f"{error.strerror}: {error.filename or beginning}")) from error


def training_command(archive: Path) -> list[str]:
    """Return what runs in a process of its own, whose JVM writes the file when it ends."""
    return [sys.executable, "-m", "trident.local.training", str(archive)]


def _made(java: Path, beginning: Path) -> Path:
    # of one that was killed a JVM may go on for a while, and write a file that nobody wants
    for left in beginning.parent.glob(f"{_family(java)}-*{_PARTIAL}"):
        left.unlink(missing_ok=True)
    partial = beginning.with_name(f"{beginning.name}-{os.getpid()}{_PARTIAL}")
    try:
        answer = subprocess.run(  # noqa: S603
            training_command(partial), capture_output=True, text=True, check=False, timeout=_LONGEST_S
        )
        if answer.returncode != 0 or not partial.is_file():
            lines = (answer.stderr + answer.stdout).strip().splitlines()
            raise ConfigurationError(_failure(lines[-1] if lines else f"exit code {answer.returncode}"))
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        made = partial.rename(_whole(beginning, partial))  # whole or not at all
        _forget_others(java, made)
        return made
    except subprocess.TimeoutExpired as error:
        raise ConfigurationError(_failure(f"it took longer than {_LONGEST_S} s")) from error
    finally:
        partial.unlink(missing_ok=True)


def _forget_others(java: Path, made: Path) -> None:
    """Delete the files for what was replaced in the same places; a JVM that has mapped one keeps it."""
    for each in made.parent.glob(f"{_family(java)}-*{_SUFFIX}"):
        if each != made:
            with suppress(OSError):
                each.unlink()


def _failure(why: str) -> str:
    return f"the file of Spark's classes could not be made ({why}). Nothing depends on it: Spark starts more slowly"


def main() -> None:
    """Make the file; end with the sentence that says why not where it can't be made."""
    try:
        java = find_java()
        if archive_of(java) is None:
            sys.stderr.write("making a file of Spark's classes, once, so that Spark starts sooner ...\n")
            make_class_data(java)
    except ConfigurationError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
