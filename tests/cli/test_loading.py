"""What a command imports to find a topology: nothing of it runs, and whatever it raises is said in one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trident import RunOptions
from trident.base.errors import ConfigurationError
from trident.cli.app import run
from trident.cli.loading import load_run, load_topology

RUNS = """
from trident import Topology
topology = Topology("payments")
topology.run(None)
"""
IN_A_THREAD = """
import threading
from trident import Topology
topology = Topology("payments")
said = []
def work():
    try:
        topology.run(None)
    except Exception as error:
        said.append(error)
thread = threading.Thread(target=work)
thread.start()
thread.join()
raise said[0]
"""
DECIDES = """
import trident
from trident import Topology
from trident.coordinators.ledger import MemoryLedger
topology = Topology("payments")
trident.{call}
"""
NEEDS = "def topology(servers, topic, *, limit, level=1): ..."
_AT = "when it is imported: put that under `if __name__ == '__main__':`; nothing was decided"
AT_IMPORT = "put that under `if __name__ == '__main__':`; nothing was decided"
FUNCTION = "def topology():\n    "
CASES = {
    "runs": (RUNS, AT_IMPORT),
    "runs in a thread": (IN_A_THREAD, AT_IMPORT),
    "a function that runs": (
        "from trident import Topology\ndef topology():\n    Topology('payments').run(None)\n",
        "runs its topology in",
    ),
    "resets": (DECIDES.format(call="reset(topology, MemoryLedger(), states='clear')"), f"resets its topology {_AT}"),
    "retries": (DECIDES.format(call="retry('payments', MemoryLedger(), txid=1)"), f"decides about a txid {_AT}"),
    "diverts": (
        DECIDES.format(call="divert(topology, MemoryLedger(), txid=1, state='s')"),
        f"decides about a txid {_AT}",
    ),
    "undoes": (DECIDES.format(call="undo(topology, MemoryLedger(), txid=1)"), f"decides about a txid {_AT}"),
    "needs arguments": (NEEDS, "needs arguments (servers, topic, limit)"),
    "raises": (
        "topology = {}['K']",
        "raised KeyError: 'K' (line 1 of job.py) when it is imported; nothing was decided",
    ),
    "ends the process": ("import sys\nsys.exit(0)", "raised SystemExit: 0 (line 2 of job.py)"),
    "does not parse": ("topology =", "raised SyntaxError"),
    "misses a package": ("import no_such_package", "can't import"),
    "a function that raises": (FUNCTION + "raise OSError('no disk')", "raised OSError: no disk (line 2 of job.py) in"),
    "a function that ends the process": (FUNCTION + "raise SystemExit", "raised SystemExit (line 2 of job.py) in"),
    "no session": (
        "from trident import Topology\nfrom trident.spouts import FixedBatchSpout\n"
        "topology = Topology('payments').stream('s', FixedBatchSpout('a int', [(1,)], max_records_per_batch=1))\n",
        "job.py:make), for which a session is made",
    ),
}


@pytest.fixture(autouse=True)
def without_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command's process has none yet; this one's may have been left by other tests."""
    monkeypatch.setattr("trident.cli.loading._have_session", lambda: None)
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    monkeypatch.setattr("pyspark.sql.SparkSession._instantiatedSession", None)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("command", ["undo", "reset"])
def test_a_module_that_can_not_be_loaded_is_wrong_use(
    case: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, text = CASES[case]
    file = tmp_path / "job.py"
    file.write_text(source)
    more = ["3"] if command == "undo" else ["--states", "adopt"]
    assert run([command, f"{file}:topology", *more, "--yes", "--ledger", str(tmp_path / "none.sqlite")]) == 2
    said = capsys.readouterr().err
    assert text in said
    assert "Traceback" not in said


def test_what_a_module_raises_shows_no_address(tmp_path: Path) -> None:
    file = tmp_path / "job.py"
    file.write_text("raise OSError('no way to postgresql://user:s3cret@h/db')")
    with pytest.raises(ConfigurationError, match=r"raised OSError \(line 1 of job.py\)") as error:
        load_topology(f"{file}:topology")
    assert "s3cret" not in str(error.value)


def test_a_topology_that_was_loaded_can_run(tmp_path: Path) -> None:
    """The refusal ends with the loading: what is wrong here is the session."""
    file = tmp_path / "job.py"
    file.write_text(
        "from trident import Topology\ntopology = Topology('payments')\n"
        "if __name__ == '__main__':\n    topology.run(None)\n"
    )
    with pytest.raises(ConfigurationError, match="spark must be"):
        load_topology(f"{file}:topology").run(None)  # type: ignore[arg-type]


def test_a_file_may_import_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "neighbour_of_a_job.py").write_text("NAME = 'payments'\n")
    file = tmp_path / "job.py"
    file.write_text("from neighbour_of_a_job import NAME\nfrom trident import Topology\ntopology = Topology(NAME)\n")
    assert load_topology(f"{file}:topology").name == "payments"


WITH_A_PROPERTY = """
class Jobs:
    @property
    def topology(self):
        {does}
jobs = Jobs()
"""
LAZY = {
    "a module": (
        "topology",
        "def __getattr__(name):\n    if name == 'topology':\n        {does}\n    raise AttributeError\n",
    ),
    "a property": ("jobs.topology", WITH_A_PROPERTY),
}


@pytest.mark.parametrize("kind", LAZY)
def test_what_is_made_when_it_is_asked_for_is_said_like_what_is_imported(kind: str, tmp_path: Path) -> None:
    name, source = LAZY[kind]
    file = tmp_path / "job.py"
    file.write_text(source.format(does="raise OSError('no way to postgresql://user:s3cret@h/db')"))
    with pytest.raises(ConfigurationError, match=rf"raised OSError \(line \d of job.py\) when '{name}' is") as error:
        load_topology(f"{file}:{name}")
    assert "s3cret" not in str(error.value)
    file.write_text("import trident\n" + source.format(does="trident.Topology('payments').run(None)"))
    with pytest.raises(ConfigurationError, match="runs its topology when"):
        load_topology(f"{file}:{name}")
    file.write_text("import trident\n" + source.format(does="return trident.Topology('payments')"))
    assert load_topology(f"{file}:{name}").name == "payments"


@pytest.mark.parametrize("name", ["json", "tabnanny", "pytest"])  # imported before, not yet, of a package
def test_a_file_takes_no_other_modules_place(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = dict(sys.modules)
    file = tmp_path / f"{name}.py"
    file.write_text("from trident import Topology\ntopology = Topology('payments')\n")
    assert load_topology(f"{file}:topology").name == "payments"
    assert sys.modules.get(name) is before.get(name)


def test_a_file_has_its_own_name_and_leaves_nothing_if_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "a_job_of_this_name.py"
    file.write_text("raise OSError")
    with pytest.raises(ConfigurationError):
        load_topology(f"{file}:topology")
    assert file.stem not in sys.modules
    file.write_text("from trident import Topology\nclass Mine: ...\ntopology = Topology('payments')\nmine = Mine()\n")
    for _ in range(2):
        load_topology(f"{file}:topology")
        assert sys.modules[file.stem].Mine.__module__ == file.stem
    del sys.modules[file.stem]


def test_the_options_of_a_run_may_stand_in_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / "a_job_with_options.py"
    file.write_text(
        "from trident import RunOptions, Topology\ntopology = Topology('payments')\nmine = RunOptions(max_tries=7)\n"
    )
    topology, options = load_run(f"{file}:topology", "mine")
    assert (topology.name, options) == ("payments", RunOptions(max_tries=7))
    assert load_run(f"{file}:topology", "")[1] == RunOptions()
    with pytest.raises(ConfigurationError, match=r"'topology' of .* is a Topology, no RunOptions"):
        load_run(f"{file}:topology", "topology")
    with pytest.raises(ConfigurationError, match="has no 'others'"):
        load_run(f"{file}:topology", "others")
    del sys.modules[file.stem]
