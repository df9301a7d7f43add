"""Guards of life-cycle commands: who obeys which, once, and what a killed or inactive topology does not do."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_STEPS: Final = ("tests/coordinators/test_lifecycle_steps.py",)
_LOOP: Final = ("tests/coordinators/test_lifecycle_loop.py",)
_LIVES: Final = ("tests/coordinators/test_lifecycle.py",)
_SQLITE: Final = ("tests/ledger/test_sqlite_ledger.py",)
_MEMORY: Final = ("tests/ledger/test_memory_ledger.py",)

LIFECYCLE: Final = (
    Mutant(
        "a life-cycle command is carried out once",
        "coordinators/protocol/lifecycle.py",
        "given.number <= state.last_command or ",
        "",
        _STEPS,
    ),
    Mutant(
        "a run that ends leaves life-cycle commands to the next owner",
        "coordinators/protocol/lifecycle.py",
        " or state.phase not in (Phase.RUNNING, Phase.INACTIVE)",
        "",
        _STEPS,
    ),
    Mutant(
        "what is being decided outlives the wait of a kill",
        "coordinators/protocol/step.py",
        "for item in state.live if item.status in _UNDECIDED)",
        "for item in state.live)",
        _STEPS,
    ),
    Mutant(
        "an attempt that fails while it is inactive is not tried again",
        "coordinators/protocol/step.py",
        "    is_last = state.phase in _ENDS\n",
        "    is_last = state.phase is Phase.DRAINING\n",
        _STEPS,
    ),
    Mutant(
        "an engine without tasks is not told of a number of them",
        "coordinators/protocol/lifecycle.py",
        "command.parallelism is not None and not state.shares_work",
        "False",
        _STEPS,
    ),
    Mutant(
        "commands that wait are read once at a time",
        "coordinators/batches/loop.py",
        "not self._is_asking and ",
        "",
        _LOOP,
    ),
    Mutant(
        "a run until caught up does not wait for what a deactivated topology never plans",
        "coordinators/batches/loop.py",
        "if self._pace.ends_caught_up and self.state.phase is Phase.INACTIVE",
        "if False and self.state.phase is Phase.INACTIVE",
        _LOOP,
    ),
    Mutant(
        "the wait of a kill ends by itself",
        "coordinators/batches/loop.py",
        "self._ends_at = now + wait.total_seconds()",
        "self._ends_at = NEVER",
        _LOOP,
    ),
    Mutant(
        "a killed run with nothing left to drop wakes for no wait",
        "coordinators/batches/loop.py",
        "self._ends_at if self.state.live else NEVER",
        "self._ends_at",
        _LOOP,
    ),
    Mutant(
        "nothing is planned before the answer to an activation is durable",
        "coordinators/protocol/lifecycle.py",
        "    return state._replace(activating=state.last_command), (",
        "    return state._replace(phase=Phase.RUNNING), (",
        _STEPS,
    ),
    Mutant(
        "an activation that was taken back is none",
        "coordinators/protocol/lifecycle.py",
        "phase=Phase.INACTIVE, activating=0)",
        "phase=Phase.INACTIVE)",
        _STEPS,
    ),
    Mutant(
        "a start of a killed topology begins nothing",
        "coordinators/holding/takeover.py",
        "        if registers:\n            require_not_killed(",
        "        if False:\n            require_not_killed(",
        (f"{_LIVES[0]}::test_killed_it_finishes_what_is_in_flight_and_no_start_begins_anything",),
    ),
    Mutant(
        "a start of a deactivated topology plans nothing",
        "coordinators/holding/taken.py",
        "Phase.INACTIVE if snapshot.activity is Activity.INACTIVE else Phase.RUNNING",
        "Phase.RUNNING",
        (f"{_LIVES[0]}::test_a_start_of_a_deactivated_topology_plans_nothing_until_it_is_activated",),
    ),
    Mutant(
        "a fenced owner reads no life-cycle commands",
        "coordinators/ledger/sql/lifecycle.py",
        "    lock_fence(connection, owner.topology, epoch)\n    rows = ",
        "    rows = ",
        _SQLITE,
    ),
    Mutant(
        "a fenced owner answers no life-cycle commands",
        "coordinators/ledger/sql/lifecycle.py",
        "    lock_fence(connection, owner.topology, epoch)\n    row = ",
        "    row = ",
        _SQLITE,
    ),
    Mutant(
        "a life-cycle command that was read can't be withdrawn",
        "coordinators/ledger/sql/lifecycle.py",
        "            COMMAND.c.epoch.is_(None),\n",
        "",
        _SQLITE,
    ),
    Mutant(
        "a life-cycle command ends with its incarnation",
        "coordinators/ledger/rules/lifecycle.py",
        "if row.incarnation != owner.incarnation:",
        "if False:",
        _MEMORY,
    ),
    Mutant(
        "nobody begins with a life-cycle command whose time is over",
        "coordinators/ledger/rules/lifecycle.py",
        "    if is_late:\n",
        "    if False:\n",
        _MEMORY,
    ),
    Mutant(
        "a life-cycle command that was read is carried out, however late",
        "coordinators/ledger/rules/lifecycle.py",
        "is_late and row.epoch is None",
        "is_late",
        ("tests/ledger/test_rules_of_commands.py",),
    ),
    Mutant(
        "what is no life-cycle command is refused and holds up none",
        "coordinators/ledger/rules/lifecycle.py",
        "except (ValueError, RecursionError, msgspec.DecodeError, ConfigurationError):",
        "except ZeroDivisionError:",
        ("tests/ledger/test_rules_of_commands.py",),
    ),
    Mutant(
        "a life-cycle command has one answer",
        "coordinators/ledger/rules/lifecycle.py",
        "        if (kept.verdict, kept.answer) == (reply.verdict, reply.text):\n            return True\n",
        "        return False\n",
        _MEMORY,
    ),
)
