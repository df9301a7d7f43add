"""Spark's errors, by what the caller must do; values of records never get into their text."""

from __future__ import annotations

import re
from pathlib import Path

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import (
    AnalysisException,
    ArithmeticException,
    ArrayIndexOutOfBoundsException,
    DateTimeException,
    NumberFormatException,
    PySparkException,
    PythonException,
)
from pyspark.errors.exceptions.captured import convert_exception

from trident.base.errors import (
    FatalError,
    FencedError,
    RefusedError,
    RetryableError,
    TridentError,
    UncomputableError,
)
from trident.coordinators.batches.processor import StagingRefusedError, UnprocessableError
from trident.operations.base import UNCOMPUTABLE, UNHELD
from trident.state.staged import StagingLostError

SPARK_FAILURES = (PySparkException, Py4JError, OSError, EOFError)
"""What an action can raise when a job, a worker or the JVM fails."""

NOTHING_APPLIED = "Nothing of the batch was applied"
_DATA_ERRORS = (
    ArithmeticException,
    ArrayIndexOutOfBoundsException,
    DateTimeException,
    NumberFormatException,
    AnalysisException,
)
_CONNECTOR = "org.apache.spark.sql.kafka010."
_RAISED_BY_SQL = "USER_RAISED_EXCEPTION"
_HOPELESS_SQLSTATES = ("21", "22", "42", "0A", "P0001")
"""Cardinality, data exceptions, invalid names and syntax, unsupported, `raise_error`: the same records fail again."""

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$')
_RAISED = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<text>.*))?$")
_TRACEBACK = "Traceback (most recent call last)"
_NOBODYS = re.compile(r"[/\\](?:site-packages|dist-packages|pyspark(?:\.zip)?|lib/python3[^/]*)[/\\]|^<frozen ")
"""Files that are no user's: what is installed, Spark's own Python, Python's library."""
_NO_MODULE = re.compile(r"No module named '(?P<name>[A-Za-z_][\w.]*)'")
_SERIALIZERS = "/pyspark/serializers.py"
_DEEPEST = 10
_PACKAGE = Path(__file__).parents[1]
_INSIDE = f"/{_PACKAGE.name}/"


def session_stopped(job: str) -> FatalError:
    """Return what to raise once the user's code has stopped the session."""
    return FatalError(
        f"{job}: the Spark session was stopped (spark.stop()) while the topology ran. {NOTHING_APPLIED}, what was "
        "done before stays. Make a new session, build the topology in it and run it again: it goes on where this run "
        "has ended. To end a run, call the topology's stop() and wait for run() to return before you stop Spark."
    )


def classify(error: BaseException, job: str, became: str = NOTHING_APPLIED) -> TridentError:
    """Return what to raise for a failed job; `job` names it in the text, `became` says what became of the data.

    Raise the result `from None`: Spark's own text may quote values of records.
    """
    if isinstance(error, PythonException):
        return _from_python(str(error), job, became)
    if isinstance(error, Py4JJavaError):
        try:
            return _from_java(error, job, became)
        except (Py4JError, OSError) as gone:  # the JVM that has the causes died meanwhile
            error = gone
    if isinstance(error, PySparkException):
        return _from_condition(error, job, became)
    if isinstance(error, ConnectionRefusedError):  # what Spark itself could not reach comes as one of its own errors
        return FatalError(
            f"{job}: Spark's JVM has ended, nobody answers any more. {became}; run the topology again in a "
            "new process: a session of this one can't be used any more."
        )
    return RetryableError(f"{job}: the connection to Spark failed ({type(error).__name__}). {became}.")


def of_state(refused: RefusedError, state: str, job: str) -> TridentError:
    """Return the refusal of the state whose job it was; what several states share is computed for none of them."""
    if state:
        return StagingRefusedError(state, str(refused))
    return UnprocessableError(f"{job}: {refused}. {NOTHING_APPLIED}, and the same records would fail again.")


def _from_condition(error: PySparkException, job: str, became: str) -> TridentError:
    condition, state = error.getCondition(), error.getSqlState()
    raised = (error.getMessageParameters() or {}).get("errorMessage", "") if condition == _RAISED_BY_SQL else ""
    if raised.startswith(UNHELD):  # any other text is a user's, and may show what is in a record
        return RefusedError(raised.removeprefix(UNHELD))
    if raised.startswith(UNCOMPUTABLE):
        return UnprocessableError(
            f"{job}: {raised.removeprefix(UNCOMPUTABLE)}. {became}, and the same records would fail again: mend what "
            "makes that field, or leave such records out (filter), and start again."
        )
    what = " ".join(filter(None, [type(error).__name__, condition, state and f"(SQLSTATE {state})"]))
    if isinstance(error, _DATA_ERRORS) or (state or "").startswith(_HOPELESS_SQLSTATES):
        return UnprocessableError(
            f"{job}: Spark can't compute it from these records: {what}. {became}, and the same records "
            "would fail again: change the expression (try_cast, try_divide, a filter) and start again."
        )
    return RetryableError(f"{job}: the Spark job failed: {what}. {became}.")


def _from_java(error: Py4JJavaError, job: str, became: str) -> TridentError:
    """Look through the causes for one that says more than that the job was aborted."""
    cause = error.java_exception
    for _ in range(_DEEPEST):
        if cause is None:
            break
        converted = convert_exception(cause)
        if isinstance(converted, PythonException):
            return _from_python(str(converted), job, became)
        if _is_of_the_connector(converted, cause):
            return _unheld_timestamp(job)
        if isinstance(converted, _DATA_ERRORS) or converted.getCondition() == _RAISED_BY_SQL:
            return _from_condition(converted, job, became)
        cause = cause.getCause()
    name = str(error.java_exception.getClass().getSimpleName())
    return RetryableError(f"{job}: the Spark job failed or was cancelled ({name}). {became}.")


def _is_of_the_connector(error: PySparkException, cause: JavaObject) -> bool:
    """Whether Spark's Kafka connector has failed to reckon: of a record it makes only the timestamp another number."""
    if not isinstance(error, ArithmeticException):
        return False
    return any(str(frame.getClassName()).startswith(_CONNECTOR) for frame in cause.getStackTrace())


def _unheld_timestamp(job: str) -> UnprocessableError:
    return UnprocessableError(
        f"{job}: Spark's Kafka connector can't hold the timestamp of a record that it reads, used or not (one in "
        f"nanoseconds, as a rule: Kafka's are milliseconds). {NOTHING_APPLIED}, and the same records would fail "
        "again: give the spout reader=ArrowReader(), which reads it where nothing asks for its timestamp, and makes "
        "that record alone a bad one where something does, and start again."
    )


def _from_python(traceback: str, job: str, became: str) -> TridentError:
    module = _unimportable(traceback)
    if module is not None:
        return UnprocessableError(
            f"{job}: Spark's workers can't import the module {module!r}, which a function or combiner of the topology "
            f"is from, or needs. {became}, and each try would fail the same: bring it to them "
            "(spark.sparkContext.addPyFile, --py-files, or PYTHONPATH where they start) and start again."
        )
    frame, type_, text = _last_raise(traceback)
    own = _own_error(type_)
    kind = FatalError if own is not None and issubclass(own, FatalError) else RetryableError
    if own is not None and text and _is_of_library(frame):  # this library's own texts carry no values; a user's may
        if issubclass(own, RefusedError):
            return RefusedError(text)
        if issubclass(own, UncomputableError):
            return UnprocessableError(f"{job}: {text}")
        if issubclass(own, FencedError):  # a task that writes itself: tried again it would only write to the others
            return FencedError(f"{job}: {text}")
        return StagingLostError(f"{job}: {text}") if issubclass(own, StagingLostError) else kind(f"{job}: {text}")
    called = _users_frame(traceback, frame)
    told = kind(f"{job}: Python code raised {type_} at {frame}{called}. {became}.")
    told.raised = type_
    return told


def _users_frame(traceback: str, innermost: str) -> str:
    """Say at which line of the user's own code a library was called that raised; nothing where it is that very line."""
    frames = [match for line in _last_traceback(traceback) if (match := _FRAME.match(line))]
    own = [frame for frame in map(_where, frames) if not (_NOBODYS.search(frame) or _is_of_library(frame))]
    return f", called at {own[-1]}" if own and own[-1] != innermost else ""


def _last_traceback(text: str) -> list[str]:
    """Return the lines of the last traceback: what was raised while an error was handled comes behind it."""
    lines = text.splitlines()
    begin = max((number for number, line in enumerate(lines) if line.startswith(_TRACEBACK)), default=0)
    return lines[begin:]


def _where(frame: re.Match[str]) -> str:
    return f"{frame['file']}:{frame['line']} in {frame['function']}"


def _unimportable(traceback: str) -> str | None:
    """Return the module without which a worker could not even unpickle what it was to run; its name is no value."""
    _, type_, text = _last_raise(traceback)
    found = _NO_MODULE.match(text) if type_ == ModuleNotFoundError.__name__ else None
    frames = (match for line in traceback.splitlines() if (match := _FRAME.match(line)))
    is_unpickling = any(each["file"].endswith(_SERIALIZERS) and each["function"] == "loads" for each in frames)
    return found["name"] if found is not None and is_unpickling else None


def _is_of_library(frame: str) -> bool:
    """Whether the frame is in a file of this package, wherever the worker has it installed."""
    inside = frame.rpartition(_INSIDE)[2].partition(":")[0]
    return _INSIDE in frame and (_PACKAGE / inside).is_file()


def _own_error(name: str) -> type[TridentError] | None:
    """Return this library's error class of that full name, wherever in the library it lives."""
    todo: list[type[TridentError]] = [TridentError] if name.startswith("trident.") else []
    while todo:
        known = todo.pop()
        if f"{known.__module__}.{known.__qualname__}" == name:
            return known
        todo += known.__subclasses__()
    return None


def _last_raise(traceback: str) -> tuple[str, str, str]:
    """Return the innermost frame of the last traceback, the exception's type, and its text."""
    lines = traceback.splitlines()
    frames = [(number, match) for number, line in enumerate(lines) if (match := _FRAME.match(line))]
    if not frames:
        return "an unknown place", "an exception", ""
    last, frame = frames[-1]
    where = _where(frame)
    for line in lines[last + 1 :]:
        if match := _RAISED.match(line):
            return where, match["type"], match["text"] or ""
    return where, "an exception", ""
