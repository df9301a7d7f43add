"""docs/tutorial.md from its first block to its last, in an empty folder; and back to its first version."""

from __future__ import annotations

import re
from collections.abc import Callable

from pyspark.sql import SparkSession

from integration_tests.pages.walking import Topics, Walk, file_of
from tests.pages.shell import commands_in
from trident.cli.exits import Exit

NEW = ("'largest' of state 'balances' is new since txid 20", "sink 'alerts' is new since txid 20")


def test_the_tutorial_comes_to_what_it_prints(
    spark: SparkSession, servers: Topics, walk: Callable[[str], Walk]
) -> None:
    walking = walk("docs/tutorial.md")
    (starts,) = (block for block in walking.blocks("sh") if "trident.local" in block.text)
    (words,) = commands_in(starts.text)
    servers.make(*words[3:])
    walking.all_of_it()

    walking.shell("trident status payments")
    for said in NEW:
        assert said in walking.printed
    _rolled_back(walking, walk("docs/howto/deploy-and-roll-back.md"))


def _rolled_back(walking: Walk, deploying: Walk) -> None:
    """The versions before are refused as the page on deploying says, which takes the sink out, too."""
    first, second = (block for block in walking.blocks("python") if file_of(block) == "payments.py")
    without_sink = re.sub(r"    payments\.filter.*?\n    \)\n", "", second.text, flags=re.DOTALL)
    assert without_sink != second.text
    for text in (first.text, without_sink):
        (walking.folder / "payments.py").write_text(text)
        deploying.shell("trident run payments.py:topology --until caught_up", Exit.FAILED)
        deploying.quotes(deploying.complained)
    walking.do(second)
    for word in ("trident drop", "trident kill"):
        (block,) = (block for block in deploying.blocks("sh") if word in block.text)
        deploying.do(block)
