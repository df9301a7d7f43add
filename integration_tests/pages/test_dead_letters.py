"""docs/howto/dead-letters.md: records that do not decode stop, are set aside, are looked at and sent again."""

from __future__ import annotations

import os
from collections.abc import Callable

from pyspark.sql import SparkSession

from integration_tests.pages.jobs import RUN, encoded, payments_of, send, sums_in, sums_of, write
from integration_tests.pages.walking import Topics, Walk
from trident.cli.exits import Exit

GOOD = [("ann", 5), ("bob", 7), ("ann", 10)]
BAD = [b"bob;20", b"cyd;30"]


def test_what_does_not_decode_is_set_aside_and_sent_again(
    spark: SparkSession, servers: Topics, walk: Callable[[str], Walk]
) -> None:
    walking = walk("docs/howto/dead-letters.md")
    ledger = os.environ["TRIDENT_LEDGER"]
    servers.make("payments", partitions=1)
    send([*encoded(GOOD), *BAD], 1)
    set_aside, again = walking.blocks("python")
    schema = "    value="
    (told,) = (line for line in set_aside.text.splitlines() if line.startswith(schema))
    first = payments_of(1)
    (before,) = (line for line in first.splitlines() if line.strip().startswith(schema.strip()))
    write(walking, first.replace(before.strip(), told.strip()))
    walking.shell(RUN, Exit.FAILED)
    walking.quotes(walking.complained)

    (policy,) = (line for line in set_aside.text.splitlines() if "on_bad_record" in line)
    write(walking, first.replace(before, f"        {told.strip()}\n        {policy.strip()}"))
    walking.shell(RUN)
    assert sums_in(ledger) == sums_of(GOOD)
    walking.do(walking.blocks("sh")[0])
    assert "dead letters" in walking.printed
    rows = walking.do(walking.blocks("sql")[0])
    assert all(value.decode() in rows for value in BAD)

    exec(again.compiled(), {})
    walking.shell(RUN)
    assert sums_in(ledger) == sums_of([*GOOD, ("bob", 20), ("cyd", 30)])
    exec(set_aside.compiled(), {})


def test_what_a_state_refuses_is_set_aside_and_put_back_once_that_is_mended(
    spark: SparkSession, servers: Topics, walk: Callable[[str], Walk]
) -> None:
    walking = walk("docs/howto/dead-letters.md")
    walking.names = {"jobs/payments.py": "payments.py", " 17 ": " 2 "}
    ledger = os.environ["TRIDENT_LEDGER"]
    servers.make("payments", partitions=1)
    write(walking, payments_of(1))
    send(encoded(GOOD), 1)
    walking.shell(RUN)
    walking.sql("ALTER TABLE balances ADD CONSTRAINT small CHECK (total < 100)")
    more = [("ann", 100), ("bob", 1)]
    send(encoded(more), 1)
    walking.shell(RUN, Exit.NEEDS_DECISION)

    _, divert, put_back = walking.blocks("sh")
    walking.shell(divert.text.splitlines()[0])
    walking.shell(RUN)
    assert sums_in(ledger) == sums_of([*GOOD, more[1]])
    walking.shell(put_back.text, Exit.FAILED)
    assert "constraint 'small'" in walking.complained
    walking.sql("ALTER TABLE balances DROP CONSTRAINT small")
    walking.do(put_back)
    assert "1 row of state balances was taken out of txid 2 of" in walking.asked[-1]
    assert sums_in(ledger) == sums_of([*GOOD, *more])
    walking.shell(RUN)
    assert sums_in(ledger) == sums_of([*GOOD, *more])
