"""A real Spark standalone cluster for local use: a master and its workers as processes on 127.0.0.1."""

from __future__ import annotations

import json
import os
import signal
import sys
import urllib.request
from pathlib import Path

import psutil
import pyspark

from trident.base.checks import check_count, check_text
from trident.local.java import find_java
from trident.local.processes import ServerCommand, free_ports
from trident.local.server import LocalServer, StartedBlock

_DAEMON_HEAP = "256m"
QUICK_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Options with which a Java process that does little is there sooner."""
_ROOT = Path(__file__).parents[2]
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


class SparkMaster(LocalServer):
    """Hands out the workers' cores to applications."""

    stop_signal = signal.SIGTERM
    start_seconds = 60

    def __init__(self) -> None:
        super().__init__("spark-master")
        self._port, self._page_port = free_ports(2)

    @property
    def url(self) -> str:
        """What `SparkSession.builder.master` wants."""
        return f"spark://127.0.0.1:{self._port}"

    def workers(self) -> int:
        """Return how many workers have registered; raises OSError while nobody answers."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._page_port}/json/", timeout=5) as answer:
            return int(json.load(answer)["aliveworkers"])

    def _command(self) -> ServerCommand:
        options = ["--host", "127.0.0.1", "--port", str(self._port), "--webui-port", str(self._page_port)]
        return _command(_MASTER, options, self._folder)

    def _answers(self) -> bool:
        try:
            return self.workers() >= 0
        except OSError:
            return False


class SparkWorker(LocalServer):
    """Starts executors for applications; they end with it."""

    stop_signal = signal.SIGTERM
    start_seconds = 60

    def __init__(self, master: SparkMaster, number: int, cores: int, memory: str) -> None:
        super().__init__("spark-worker")
        self._master = master
        self._number = number
        # Spark starts no speculative copy of a task on the host that runs it: workers need hosts of their own
        self._host = f"127.0.0.{number}" if sys.platform == "linux" else "127.0.0.1"
        self._options = ["--host", self._host, "--webui-port", "0", "--cores", str(cores), "--memory", memory]

    def kill(self) -> None:
        """End the worker and its executors at once."""
        executors = (
            psutil.Process(self.pid).children(recursive=True) if self.pid and psutil.pid_exists(self.pid) else []
        )
        super().kill()
        for process in executors:
            if process.is_running():
                process.kill()
        psutil.wait_procs(executors, timeout=10)

    def _command(self) -> ServerCommand:
        return _command(
            _WORKER, [*self._options, "--work-dir", str(self._folder / "work"), self._master.url], self._folder
        )

    def _answers(self) -> bool:
        try:
            return self._master.workers() >= self._number
        except OSError:
            return False


class LocalSparkCluster(StartedBlock):
    """A master with workers, each for several small executors; use it as a context manager.

    Executors run this Python and find this library. Cores are what is handed out, not what the
    machine has. Raises `ConfigurationError` without Java.
    """

    def __init__(self, workers: int = 2, cores: int = 4, memory: str = "4g") -> None:
        check_count("workers", workers)
        check_count("cores", cores)
        check_text("memory", memory, allowed="a text such as '4g'")
        self.master = SparkMaster()
        self._workers = [SparkWorker(self.master, number, cores, memory) for number in range(1, workers + 1)]

    def launch(self) -> None:
        """Start the processes without waiting for them: workers ask for the master again and again."""
        self.master.launch()
        for worker in self._workers:
            worker.launch()

    def wait(self) -> None:
        """Wait until every worker has registered; raises `FatalError` if one does not."""
        self.master.wait()
        for worker in self._workers:
            worker.wait()

    def close(self) -> None:
        """End all of its processes and delete their files; may be called again."""
        for worker in self._workers:
            worker.close()
        self.master.close()


def _command(class_name: str, options: list[str], folder: Path) -> ServerCommand:
    find_java()
    home = Path(pyspark.__path__[0])
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": _DAEMON_HEAP,
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    words = [str(home / "bin" / "spark-class"), class_name, *options]
    return ServerCommand(words, folder / "server.log", signal.SIGKILL, environment=environment)
