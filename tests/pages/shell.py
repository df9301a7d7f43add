"""Lines for a shell, held to what they call: our commands by their own parser, targets, extras, files, options."""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import typer
from typer.core import TyperCommand
from typer.main import get_command

from tests.pages.blocks import ROOT
from trident.cli.app import app

OTHERS: Final = {
    "export": "the shell's own",
    "curl": "a program of others; tests/spouts/queue/test_http_push.py sends the same request",
    "docker": "a program of others: its file and services are looked up",
    "kafka-acls.sh": "Kafka's own; integration_tests/pages/test_least_privileges.py grants what it says",
    "kill": "the shell's own",
    "pg_dump": "PostgreSQL's own; integration_tests/pages/test_back_up_and_restore.py runs it",
    "pg_restore": "the same",
    "sleep": "the shell's own",
}
"""What nothing runs, and why."""
PRINTED: Final = {
    "payments.py": "README.md prints it",
    "send.py": "docs/tutorial.md prints it",
    "alerts.py": "the same",
    "jobs/payments.py": "stands for a user's own",
}
"""Files that are not in the repository."""
_ENDS: Final = {"|", "||", "&", "&&", ";"}
_REDIRECTIONS: Final = {"<", ">", ">>"}
_OF_ERRORS: Final = re.compile(r"(?<=\s)2(?=>)")
_KEYWORDS: Final = {"until", "do", "done"}
_ASSIGNED: Final = re.compile(r"[A-Z_]+=")
_REQUIREMENT: Final = re.compile(r"(\.|trident-pyspark)(?:\[([\w,]+)\])?")


def commands_in(text: str) -> Iterator[list[str]]:
    """Yield each command of some lines as its words, without what is set for it and where its output goes."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(_OF_ERRORS.sub("", line), posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        words: list[str] = []
        is_file = False
        for word in [*lexer, ";"]:
            if word in _ENDS:
                if words:
                    yield words
                words = []
            elif word in _REDIRECTIONS or is_file:
                is_file = not is_file
            elif words or not (_ASSIGNED.match(word) or word in _KEYWORDS):
                words.append(word)


def problems(words: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with a command."""
    program, *rest = words
    if program in _CHECKS:
        yield from (f"{shlex.join(words)}: {problem}" for problem in _CHECKS[program](rest))
    elif program not in OTHERS:
        yield f"{program}: nobody looks at this program; add it to tests/pages/shell.py"


@cache
def commands() -> Mapping[str, TyperCommand]:
    """Return our own commands by their names."""
    found: Mapping[str, TyperCommand] = getattr(get_command(app), "commands", {})
    return found


def wrong_use(words: Sequence[str]) -> str | None:
    """Return what our own command line says to these words, None where it takes them; nothing is run."""
    if not words or words[0].startswith("-"):
        return None if list(words) in ([], ["--help"], ["--version"]) else f"no option {words[0]}"
    found = commands().get(words[0])
    if found is None:
        return f"there is no command {words[0]!r}"
    try:
        with found.make_context(words[0], list(words[1:])):
            return None
    except typer.TyperException as error:
        return str(error)


def _of_trident(words: Sequence[str]) -> Iterator[str]:
    said = wrong_use(words)
    if said is not None:
        yield said


def _of_make(words: Sequence[str]) -> Iterator[str]:
    makefile = (ROOT / "Makefile").read_text()
    for word in words:
        name, is_set, _ = word.partition("=")
        if is_set and not re.search(rf"\$\(.*\b{name}\b.*\)|^{name} \?=", makefile, re.MULTILINE):
            yield f"make knows no variable {name}"
        if not is_set and not re.search(rf"^{re.escape(name)}:", makefile, re.MULTILINE):
            yield f"there is no target {name}"


def _of_pip(words: Sequence[str]) -> Iterator[str]:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    action, *wanted = words
    if action != "install":
        yield "only installing is known"
    for each in wanted:
        found = _REQUIREMENT.fullmatch(each)
        if found is None:
            yield f"{each!r} is not this package"
        elif found[2]:
            yield from (f"there is no extra {extra!r}" for extra in found[2].split(",") if extra not in extras)


def _of_python(words: Sequence[str]) -> Iterator[str]:
    if words[0] == "-m":
        found = importlib.util.find_spec(words[1])
        if found is None:
            yield f"there is no module {words[1]}"
        return
    if words[0] in PRINTED:
        return
    file = ROOT / words[0]
    if not file.is_file():
        yield f"there is no file {words[0]}"
        return
    options = [word.partition("=")[0] for word in words[1:] if word.startswith("--")]
    yield from (f"{words[0]} has no option {option}" for option in options if f'"{option}"' not in file.read_text())


def _of_docker(words: Sequence[str]) -> Iterator[str]:
    if words[:2] != ["compose", "-f"] or not (ROOT / words[2]).is_file():
        yield "only `docker compose -f FILE` is known, with a file that is there"
        return
    text = (ROOT / words[2]).read_text()
    services = [word for word in words[4:] if not word.startswith("-")]
    yield from (f"there is no service {name}" for name in services if f"\n  {name}:\n" not in text)


def _of_pytest(words: Sequence[str]) -> Iterator[str]:
    yield from (f"there is no {word}" for word in words if not (ROOT / word).exists())


_CHECKS: Final[Mapping[str, Callable[[Sequence[str]], Iterator[str]]]] = {
    "trident": _of_trident,
    "make": _of_make,
    "pip": _of_pip,
    "python": _of_python,
    "docker": _of_docker,
    "pytest": _of_pytest,
}
