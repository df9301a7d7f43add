"""Every block of README and docs is compiled or parsed, or is of a kind that nothing can run, for a reason."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.pages.blocks import COMPILED, NOT_RUN, PARSED, ROOT, blocks_in, blocks_of, every_block, pages
from tests.pages.shell import OTHERS, commands, commands_in, problems, wrong_use

_NAMED = re.compile(r"`(trident [a-z][^`]*)`")
NO_COMMANDS = {"taking": "the name of a session in PostgreSQL"}
_PLACEHOLDERS = {
    "TOPOLOGY": "payments",
    "MODULE:TOPOLOGY": "jobs/payments.py:topology",
    "TXID": "17",
    "STATE": "balances",
}
_PLACEHOLDERS |= {"SINK": "alerts"}


def test_each_block_is_of_a_language_that_somebody_looks_at() -> None:
    """A block without a language, or of a new one, is in neither list: say what it is."""
    unknown = [
        f"{block}: {block.language!r}"
        for block in every_block()
        if block.language not in (*COMPILED, *PARSED, *NOT_RUN)
    ]
    assert not unknown


def test_each_fence_is_closed() -> None:
    odd = [page for page in pages() if (ROOT / page).read_text().count("\n```") != 2 * len(blocks_of(page))]
    assert not odd, "a fence that is indented, not closed, or has more than a language behind it"


@pytest.mark.parametrize("page", pages())
def test_each_line_for_a_shell_is_one_that_its_program_takes(page: str) -> None:
    wrong = [
        f"{block}: {problem}"
        for block in blocks_of(page)
        if block.language in PARSED
        for words in commands_in(block.text)
        for problem in problems(words)
    ]
    assert not wrong


@pytest.mark.parametrize("page", pages())
def test_each_command_that_a_text_names_is_one_that_there_is(page: str) -> None:
    """`trident status` alone names a command; with more words it has to be a whole one."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    wrong = []
    for named in _NAMED.findall(text):
        words = [_PLACEHOLDERS.get(word, word) for word in shlex.split(named)[1:]]
        if words[0] in NO_COMMANDS:
            continue
        if len(words) == 1:
            wrong += [named] if words[0] not in commands() else []
        elif all(word.startswith("--") for word in words[1:]):
            options = {option for parameter in commands()[words[0]].params for option in parameter.opts}
            wrong += [named] if not options.issuperset(words[1:]) else []
        elif said := wrong_use(words):
            wrong.append(f"{named}: {said}")
    assert not wrong


def test_each_block_of_python_compiles() -> None:
    for block in every_block():
        if block.language == "python":
            block.compiled()


def test_what_is_left_out_is_used() -> None:
    used = {words[0] for block in every_block() if block.language in PARSED for words in commands_in(block.text)}
    assert not OTHERS.keys() - used, "a reason for what no page has"
    assert not NOT_RUN.keys() - {block.language for block in every_block()}


def test_what_is_wrong_is_found() -> None:
    text = (
        "make no-such-target\n"
        "make test NO_SUCH=1\n"
        "pip install 'trident-pyspark[nothing]'\n"
        "python examples/none.py\n"
        "python examples/payments.py --nothing x\n"
        "python -m trident.nothing\n"
        "trident no-such-command payments\n"
        "trident show payments none\n"
        "trident status payments --nothing\n"
        "docker compose -f docker/compose.yaml up nothing\n"
        "rm -r /\n"
    )
    found = [problem for words in commands_in(text) for problem in problems(words)]
    assert len(found) == text.count("\n"), found


def test_lines_are_read_as_a_shell_does() -> None:
    text = "A=1 trident status payments \\\n  --json | sort > file.txt && make test  # why\n   # nothing\n"
    assert list(commands_in(text)) == [["trident", "status", "payments", "--json"], ["sort"], ["make", "test"]]
    loop = "until trident show payments 3 2> /dev/null; do sleep 1; done"
    assert list(commands_in(loop)) == [["trident", "show", "payments", "3"], ["sleep", "1"]]


def test_blocks_are_found_with_their_lines() -> None:
    found = list(blocks_in("page.md", "text\n\n```python\nx = 1\n```\n\n```\nbare\n```\n"))
    assert [(block.language, block.text, block.line) for block in found] == [
        ("python", "x = 1\n", 4),
        ("", "bare\n", 8),
    ]
