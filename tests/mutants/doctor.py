"""The mutants of the doctor: what keeps it from ending what it should not, and from ending too early itself."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_EXAMINING: Final = ("tests/doctor/test_examining.py",)
_JUDGING: Final = ("tests/doctor/test_judging.py",)

DOCTOR: Final = (
    Mutant(
        "the doctor sees a producer of another life",
        "trident/doctor/markers.py",
        "    is_same = expected.incarnation in (None, found.owner.incarnation)",
        "    is_same = True",
        _JUDGING,
    ),
    Mutant(
        "the doctor aborts only ids of the topology",
        "trident/doctor/aborting.py",
        "    if id_ not in own:\n",
        "    if not id_:\n",
        _EXAMINING,
    ),
    Mutant(
        "the doctor aborts nothing while a coordinator holds the topology",
        "trident/doctor/aborting.py",
        "    if standing.is_held:\n",
        "    if False:\n",
        _EXAMINING,
    ),
    Mutant(
        "the doctor makes no file by looking for it",
        "trident/doctor/databases.py",
        "    if isinstance(at.database, SqliteDatabase) and not at.database.path.exists():\n",
        "    if isinstance(at.database, SqliteDatabase) and not at.database.path:\n",
        _EXAMINING,
    ),
    Mutant(
        "what a running coordinator has just moved is looked at again by the doctor",
        "trident/doctor/markers.py",
        "        if not found.is_problem or go == _GOES - 1:\n",
        "        if found:\n",
        _JUDGING,
    ),
    Mutant(
        "the doctor says of a state that it has not followed its rename",
        "trident/doctor/names.py",
        "            if renaming.lies_under(subject.topology, each.former):\n",
        "            if False:\n",
        _EXAMINING,
    ),
)
