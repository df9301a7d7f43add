"""One end's action: its staged updates, held by the driver or written by tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from trident.base.errors import ConfigurationError
from trident.base.identity import BatchId
from trident.base.secrets import Secret
from trident.coordinators.batches.processor import ProcessRequest
from trident.engine.collecting import Collected, read_table
from trident.engine.staging import WORDS_ONLY, StageRows, Staging, StagingChoice
from trident.engine.updates import Updates
from trident.graph.nodes import CarriedNode, PersistNode, Way
from trident.state.target import Target


class Ends:
    """Runs the actions of ends; called from several threads at once, keeps nothing of a batch but sizes."""

    def __init__(
        self,
        ends: Sequence[Way],
        stores: Mapping[str, Target],
        staging: Staging,
        threshold: int,
        hand_out: Callable[[Iterable[Secret]], None],
    ) -> None:
        self._stores = stores
        self._hand_out = hand_out
        self._choices = {end.name: StagingChoice(staging, threshold, end.schema) for end in ends}
        self._only_executors = staging is Staging.EXECUTORS

    def collect(self, end: Way, updates: Updates, request: ProcessRequest, width: int) -> Collected:
        """Return what the end's job says; `width` is how many positions of sources the batch has for it."""
        is_held = end.name in request.diverts or end.name in request.sifted
        by_tasks = None if is_held else self._stage_rows(end, updates.audited_as, request.batch, width)
        if by_tasks is None:
            collected = read_table(updates.table(), end.schema)
        else:
            collected = read_table(updates.frame().mapInArrow(by_tasks, WORDS_ONLY).toArrow(), None)
        self._learn(end.name, width, collected)
        return collected

    def _stage_rows(self, end: Way, audited_as: str | None, batch: BatchId, width: int) -> StageRows | None:
        if not self._choices[end.name].by_executors(width):
            return None
        if isinstance(end, CarriedNode):
            return None
        writing = self._stores[end.name].capabilities.writing
        if writing is None:
            if self._only_executors and isinstance(end, PersistNode):
                raise ConfigurationError(
                    f"the state {end.name!r} can be staged by the driver only; use Staging.AUTO or Staging.DRIVER. "
                    "Nothing of the batch was applied"
                )
            return None
        self._hand_out(writing.secrets)
        return StageRows(writing.writer(batch), end.schema, writing.secrets, audited_as)

    def _learn(self, name: str, width: int, collected: Collected) -> None:
        if collected.rows is not None:
            self._choices[name].learn(width, collected.rows.num_rows, collected.rows.nbytes)
            return
        written = sum(getattr(word, "rows", 0) for word in collected.words)
        self._choices[name].learn(width, written, None)
