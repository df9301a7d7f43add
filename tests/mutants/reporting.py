"""Guards of reported errors, of measured latencies, and of ticks."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_REPORTING: Final = ("tests/coordinators/test_reporting.py",)
_LEDGERS: Final = ("tests/ledger/test_memory_ledger.py", "tests/ledger/test_sqlite_ledger.py")
_LATENCY: Final = ("tests/spouts/queue/test_latency.py",)
_TICKS: Final = ("tests/spouts/test_ticks.py",)

REPORTING: Final = (
    Mutant(
        "of what is no error of the library the text is not kept",
        "coordinators/reported.py",
        "isinstance(error, TridentError) else _of_foreign(error)",
        "isinstance(error, TridentError) else repr(error)",
        _REPORTING,
    ),
    Mutant(
        "what is like a login is taken out of a text",
        "coordinators/reported.py",
        "_storable(_scrubbed(_looked_at(text)), LONGEST_TEXT)",
        "_storable(_looked_at(text), LONGEST_TEXT)",
        _REPORTING,
    ),
    Mutant(
        "who was nearer has said what an error is about",
        "base/errors.py",
        "error.place = error.place or (",
        "error.place = (",
        _REPORTING,
    ),
    Mutant(
        "not more than a number of different errors is held",
        "coordinators/batches/reporting.py",
        "if len(self._reports) > MOST_ERRORS:",
        "if len(self._reports) > 2 * MOST_ERRORS:",
        _REPORTING,
    ),
    Mutant(
        "errors are written every few seconds at most",
        "coordinators/batches/reporting.py",
        "        self._closing.wait(self._next_at - self._clock.monotonic())\n",
        "",
        _REPORTING,
    ),
    Mutant(
        "another owner is no error that is reported",
        "coordinators/batches/reporting.py",
        "if not isinstance(error, Exception) or isinstance(error, FencedError):\n            return\n",
        "if not isinstance(error, Exception):\n            return\n",
        _REPORTING,
    ),
    Mutant(
        "what was not processed in time is reported",
        "coordinators/batches/loop.py",
        "        self.hears(error, batch)\n        self._advance(",
        "        self._advance(",
        _REPORTING,
    ),
    Mutant(
        "each try of a call that is made again is reported",
        "coordinators/retrying.py",
        "            self.hears(error)\n",
        "            pass\n",
        _REPORTING,
    ),
    Mutant(
        "a SQL ledger takes reports of its owner alone",
        "coordinators/ledger/sql/reporting.py",
        "    lock_fence(connection, owner.topology, epoch)\n",
        "",
        _LEDGERS,
    ),
    Mutant(
        "a memory ledger takes reports of its owner alone",
        "coordinators/ledger/memory/ledger.py",
        "            Rows(transaction).owned(owner, epoch)\n            reporting.report(",
        "            reporting.report(",
        _LEDGERS,
    ),
    Mutant(
        "a SQL ledger takes reports of its own incarnation alone",
        "coordinators/ledger/sql/reporting.py",
        "    check_owner(progress, owner)\n",
        "",
        _LEDGERS,
    ),
    Mutant(
        "a bounded number of rows stays in a SQL ledger",
        "coordinators/ledger/sql/reporting.py",
        "    if count > MOST_ERRORS:\n",
        "    if count > 2 * MOST_ERRORS:\n",
        _LEDGERS,
    ),
    Mutant(
        "errors of the last hour stay whatever a run keeps",
        "coordinators/ledger/sql/reporting.py",
        "longest = max(age, SHORTEST_KEPT).total_seconds()",
        "longest = age.total_seconds()",
        _LEDGERS,
    ),
    Mutant(
        "how long messages took is nobody's once nobody runs the topology",
        "coordinators/ledger/sql/viewing.py",
        "if is_held and held.latencies else ()",
        "if held.latencies else ()",
        _LEDGERS,
    ),
    Mutant(
        "one message in so many is measured",
        "spouts/queue/process/calling.py",
        "            if serial % SAMPLED == 0:\n",
        "            if True:\n",
        _LATENCY,
    ),
    Mutant(
        "a sample counts for some minutes only",
        "base/latency.py",
        "            while self._samples and self._samples[0][0] < now - MINUTES * 60:\n",
        "            while self._samples and self._samples[0][0] < now - MINUTES * 600:\n",
        _LATENCY,
    ),
    Mutant(
        "ticks are due by the batch's time",
        "coordinators/plans/maker.py",
        "                source.come_to(now)\n",
        "                source.come_to(self.clock.now())\n",
        _TICKS,
    ),
    Mutant(
        "by a clock that is behind no tick is taken back",
        "spouts/ticks.py",
        "max(self._stop, self._position)",
        "self._stop",
        _TICKS,
    ),
    Mutant(
        "of missed ticks one is a record",
        "spouts/ticking.py",
        "range(range_.stop - 1 if is_one else range_.start, range_.stop)",
        "range(range_.start, range_.stop)",
        _TICKS,
    ),
    Mutant(
        "another every is another stream",
        "spouts/ticks.py",
        '"every": f"{self._ticking.every.total_seconds():.6f} s", ',
        "",
        _TICKS,
    ),
    Mutant(
        "no text of any length keeps the process from its heartbeat",
        "coordinators/reported.py",
        're.split(r"(\\s)", text[:_LOOKED_AT])\n    return "".join(whole) + "…"',
        're.split(r"(\\s)", text + " ")\n    return "".join(whole) + "…"',
        ("tests/coordinators/test_reporting.py::test_a_text_of_any_length_is_reported_at_once",),
    ),
    Mutant(
        "of a text that is cut the last word is left out",
        "coordinators/reported.py",
        '    return "".join(whole) + "…"\n',
        "    return text[:_LOOKED_AT]\n",
        ("tests/coordinators/test_reporting.py::test_what_is_like_a_login_is_not_shown",),
    ),
)
