"""A topology: named streams, what happens to their records, and the states that results live in."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal, Never

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from trident.base.checks import check_able, check_count, check_instance, may_hold_a_secret
from trident.base.errors import ConfigurationError
from trident.base.levels import Level
from trident.base.loading import refuse_while_loading
from trident.base.names import check_given_name
from trident.base.policies import policy_of
from trident.coordinators.holding.run import RunSummary, TopologyRun
from trident.coordinators.ledger import Ledger
from trident.coordinators.options import Audit, RunOptions, Until, refuse_bare_options
from trident.engine.building import fields_of, prototype
from trident.engine.compiled import CompiledTopology
from trident.engine.plainly import check_end, check_node, staging_at
from trident.engine.running import make_run, run_to_end
from trident.engine.spark import active_session
from trident.engine.staging import Staging
from trident.engine.warming import WarmUp
from trident.graph.nodes import End, Node, PersistNode, SinkNode, SourceNode, Way, sources_of
from trident.language.explaining import ExplainForm, explained
from trident.language.grouped import GroupedStream
from trident.language.static_state import StaticState, static_state_of
from trident.language.stream import Stream
from trident.language.together import Keys, joined, merged, multi_reduced
from trident.operations.joining import JoinOutput, JoinSide
from trident.operations.multi_reducing import MultiReducer
from trident.operations.sending import check_sendable, sendable
from trident.spouts.base import BadRecord, LostOffsets, Spout, SpoutKind
from trident.spouts.python.spout import PythonSpout
from trident.spouts.queue.acking import AckingSpout
from trident.spouts.queue.spout import QueueSpout
from trident.spouts.ticking import MissedTicks
from trident.spouts.ticks import TickSpout
from trident.state.places import shared_place
from trident.state.target import Sink, State

_SPOUT = "a spout such as OpaqueKafkaSpout(…) or FixedBatchSpout(…)"
_SAID_BY_SPOUTS = ("kind", "limits", "on_bad_record", "on_lost_offsets")
_LEDGER = "a ledger such as SqliteLedger(path) or PostgresLedger(dsn), or None"


class Topology:
    """A graph under construction; build it in one thread, then run it.

    Its name stands for its ledger entry: the same name means the same topology, over restarts. `partitions` is how many
    logical partitions its streams have; another number in a later version counts from the first batch that it plans.
    `level` says what is promised of each record (`Level`); it stays what it is as long as the name does.
    """

    def __init__(self, name: str, *, partitions: int = 4, level: Level | str = Level.EXACTLY_ONCE) -> None:
        self.partitions = check_count("partitions", partitions)
        self.level = policy_of(Level, level, "level")
        self.name = check_given_name("a topology's name", name)
        self._spouts: dict[str, Spout] = {}
        self._samples: dict[str, StructType] = {}
        self._ends: list[End] = []
        self._nodes: dict[Node, None] = {}
        self._called: dict[Node | Way, str] = {}
        self._run: TopologyRun | None = None
        self._lock = threading.Lock()

    def stream(self, name: str, spout: Spout | AckingSpout) -> Stream:
        """Start a stream of a spout's records, or messages; needs an active Spark session, reads nothing yet.

        Raises `ConfigurationError` for a name that is taken.
        """
        check_given_name("a stream's name", name)
        if isinstance(spout, AckingSpout):
            spout = QueueSpout(spout, sendable(f"the spout of stream {name!r}", spout, "its process"))
        check_able("spout", spout, ("open", "description"), _SPOUT, has=_SAID_BY_SPOUTS)
        if name in self._spouts:
            called = "of this name" if may_hold_a_secret(name) else repr(name)
            raise ConfigurationError(f"the topology {self.name!r} has a stream {called} already")
        check_instance(f"the kind of the spout of stream {name!r}", spout.kind, SpoutKind)
        check_instance(f"on_bad_record of the spout of stream {name!r}", spout.on_bad_record, BadRecord)
        check_instance(f"on_lost_offsets of the spout of stream {name!r}", spout.on_lost_offsets, LostOffsets)
        if isinstance(spout, QueueSpout):
            self._check_read_once(name, spout)
        if isinstance(spout, PythonSpout):
            check_sendable(f"the spout of stream {name!r}", spout)
        sample = prototype(active_session(), name, spout)
        self._spouts[name] = spout
        self._samples[name] = fields_of(sample).schema
        return Stream(self, SourceNode(name, spout), sample, name)

    def _check_read_once(self, name: str, spout: QueueSpout) -> None:
        for other, known in self._spouts.items():
            both = sorted(spout.shared_out & known.shared_out) if isinstance(known, QueueSpout) else []
            if both:
                raise ConfigurationError(
                    f"the streams {other!r} and {name!r} of the topology {self.name!r} both read {both[0]}: each "
                    "message would come to one of them alone, and one that is given again to the other one would count "
                    "again. Nothing was started. Read it by one stream and use that twice, or give each a group or "
                    "queue of its own"
                )

    def ticks(self, name: str, every: timedelta, *, missed: MissedTicks | str = MissedTicks.ONE) -> Stream:
        """Start a stream of ticks: a record `every` so often, by the time of the batch, also when nothing else comes.

        `missed` says what becomes of several that are due at once; see `TickSpout`, which `stream` takes as well.
        """
        return self.stream(name, TickSpout(every, missed=missed))

    def merge(self, *streams: Stream, fields: Sequence[str] | None = None) -> Stream:
        """Return the records of all streams in one; they need as many fields, of the same types in their order.

        Fields go by their place. Streams whose fields have other names, or the same ones in another order, are refused
        unless `fields` says what those of the merged stream are called. Records are in the order of topic, partition
        and offset where that counts.
        """
        self._check_own("merge", streams)
        return merged(streams, fields)

    def join(
        self,
        *streams: Stream,
        on: Keys | Sequence[Keys],
        how: str | Sequence[JoinSide | str] = "inner",
        output: JoinOutput | str = JoinOutput.COMPACT,
        fields: Sequence[str] | None = None,
    ) -> Stream:
        """Return the rows of two streams or more that have equal keys, in all combinations, inside each batch.

        A batch is joined with itself only: what came in another one is not found. `on` is a field, several, or a list
        of them for each stream. `how` is "inner", "left", "right" or "full", or says of each stream whether it must
        have the key ("inner") or may lack it ("outer"). Keys are equal as in `group_by`: null equals null, NaN NaN.
        `fields` names all fields of the result, in the order that `output` says.
        """
        self._check_own("join", streams)
        return joined(streams, on, how, output, fields)

    def multi_reduce(
        self, streams: Sequence[Stream | GroupedStream], reducer: MultiReducer[Any], schema: str, /
    ) -> Stream:
        """Return the rows that a user's object makes of all rows of a batch of several streams, in one task.

        Of grouped streams it goes through each group by itself, and the group fields come before those of `schema`.
        """
        self._check_own("multi_reduce", streams)
        return multi_reduced(streams, reducer, schema)

    def new_static_state(self, source: object, /, *, keys: str | Sequence[str] = ()) -> StaticState:
        """Return a state that no batch changes, for `state_query`: a table, or an object that is asked in tasks.

        A table (64 MiB at most) is read once, now, so that every batch of this process, and every re-run of one, finds
        the same rows; `keys` are the fields that its rows are found by. A process that is started later reads it anew.
        An object is pickled, now, and asked by a `QueryFunction`; it may have `prepare(context)` and `cleanup()`, once
        per task. What was pinned is never asked for again, so its answers may change from batch to batch.
        """
        return static_state_of(source, keys)

    def explain(self, form: ExplainForm | str = ExplainForm.TEXT, *, audit: Audit | str = Audit.OFF) -> str:
        """Return what the topology will do: its steps, in which stage, lowered to what, per batch or over all.

        As text, or as a graph for Mermaid or Graphviz ("mermaid", "dot"). Reads nothing and runs nothing. A topology
        that is not finished is shown as far as it is. With `audit="on"` each step says whether an audit holds it to
        account.
        """
        chosen, asked = policy_of(ExplainForm, form, "form"), policy_of(Audit, audit, "audit")
        followed = {before for node in (*self._nodes, *self._ends) for before in node.inputs}
        loose = [node for node in self._nodes if node not in followed]
        return explained(self._frozen(), chosen, self._called, loose, asked)

    def compile(self) -> CompiledTopology:
        """Return the topology as it is now, for a coordinator to run; may be called again."""
        used = {source.name for end in self._ends for source in sources_of(end)}
        idle = [name for name in self._spouts if name not in used]
        if idle or not self._ends:
            what = f"the stream {idle[0]!r}" if idle else f"the topology {self.name!r}"
            raise ConfigurationError(
                f"{what} ends in no state or sink, so nothing would come of it; add a persistent_aggregate, "
                "partition_persist, to_table or to_kafka"
            )
        return self._frozen()

    def _frozen(self) -> CompiledTopology:
        return CompiledTopology(self.name, dict(self._spouts), tuple(self._ends), dict(self._samples), self.level)

    def _note(self, node: Node, name: str | None = None) -> None:
        """Keep in mind what was built, and what a stream was called there, to be told by `explain`."""
        check_node(node, self.level)
        self._nodes.setdefault(node)
        if name is not None:
            self._called[node] = name

    def run(
        self,
        spark: SparkSession,
        *,
        ledger: Ledger | None = None,
        until: Literal["stopped", "caught_up"] | None = None,
        options: RunOptions | None = None,
        staging: Staging = Staging.AUTO,
        **others: Never,
    ) -> RunSummary:
        """Run the topology in this process until it is stopped, or until it has caught up with its spouts.

        `until` says which; without it the options do, and theirs is "stopped" unless they say otherwise.
        Without a ledger, one is kept in the SQLite file `trident-ledger.sqlite` of the working directory.
        In the main thread SIGTERM and Ctrl-C drain as `stop()` does; a second Ctrl-C ends it at once. Whatever ends
        it (an error is raised), the next run goes on exactly where this one was; it may be in another process or on
        another machine.
        """
        refuse_while_loading("runs its topology")
        refuse_bare_options("Topology.run", others)
        check_able("spark", spark, ("sql", "createDataFrame"), "a SparkSession", has=("conf",))
        if ledger is not None:
            check_able("ledger", ledger, ("open", "acquire", "register", "view"), _LEDGER, has=("database",))
        if options is not None:
            check_instance("options", options, RunOptions, allowed="a RunOptions, or None")
        chosen = RunOptions() if options is None else options
        if until is not None:
            chosen = replace(chosen, until=policy_of(Until, until, "until"))
        way = staging_at(self.level, policy_of(Staging, staging, "staging"))
        with self._lock:
            if self._run is not None:
                raise ConfigurationError(f"the topology {self.name!r} is running in this process already")
            compiled = self.compile()
            warm_up = WarmUp(compiled, spark)
            self._run = make_run(compiled, spark, ledger, chosen, way, warm_up.enough)
        try:
            with warm_up:
                return run_to_end(self._run)
        finally:
            self._run = None

    def stop(self) -> None:
        """Drain a run: live batches are finished, nothing new is planned; `run` then returns.

        May be called from any thread or signal handler, any number of times; a no-op when nothing runs.
        """
        run = self._run
        if run is not None:
            run.stop()

    def _check_own(self, verb: str, streams: Sequence[Stream | GroupedStream]) -> None:
        given = streams if isinstance(streams, Sequence) else []
        plain = [each.stream if isinstance(each, GroupedStream) else each for each in given]
        if any(isinstance(each, Stream) and each._topology is not self for each in plain):
            raise ConfigurationError(
                f"{verb} of the topology {self.name!r} takes its own streams; each topology has txids of its own"
            )

    def _add_end(self, end: End) -> None:
        kind = "state" if isinstance(end, PersistNode) else "sink"
        check_given_name(f"a {kind}'s name", end.name)
        if any(other.name == end.name for other in self._ends):
            is_sink = any(isinstance(other, SinkNode) for other in self._ends if other.name == end.name)
            raise ConfigurationError(
                f"the topology {self.name!r} has a {'sink' if is_sink else 'state'} {end.name!r} already, and each "
                "needs a name of its own (of to_kafka that is the topic's, unless sink=KafkaSink(name, "
                "bootstrap_servers=…) says another; of to_table the table's). Nothing was started or changed"
            )
        for other in self._ends:
            place = shared_place(_described(other), _described(end))
            if place is not None:
                raise ConfigurationError(
                    f"{other.name!r} and {end.name!r} would both write to {place}; give each a place of its own "
                    "(table=, dsn=, path= or another map; where schemas tell two tables apart, name both schemas); "
                    "nothing was started or changed"
                )
        check_end(end, self.level)
        self._ends.append(end)


def _described(end: End) -> State | Sink:
    return end.state if isinstance(end, PersistNode) else end.sink
