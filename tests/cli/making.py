"""A topology that needs no Spark, as a module on disk that the command line can import."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from tests.coordinators.test_decisions import APART, SHORTCUT, Scene
from tests.coordinators.test_receiving_decisions import Scene as ReceivingScene
from trident import Topology
from trident.coordinators.holding.run import RunnableTopology
from trident.state import StateKind


class SceneTopology(Topology):
    """Compiles to what the scene runs."""

    def __init__(self, scene: Scene | ReceivingScene, *, with_streams: bool = False) -> None:
        job = scene.job()
        self._plan = job if isinstance(job, RunnableTopology) else job.plan()
        super().__init__(self._plan.spec.name)
        self._streams = dict(self._plan.spouts) if with_streams else {}

    def compile(self):
        return SimpleNamespace(
            name=self.name,
            spec=lambda: self._plan.spec,
            targets=self._plan.targets,
            spouts=self._streams,
            ends=(),
            stages=SimpleNamespace(shown=frozenset()),
            level=self._plan.level,
        )


def topology_in(folder: Path, apart: bool, *, with_streams: bool = False) -> SceneTopology:
    """Return the topology of the scene that lives in a folder."""
    scene = object.__new__(Scene)
    scene.folder, scene.apart = folder, APART if apart else SHORTCUT
    fields = {field.name: field for field in dataclasses.fields(Scene)}
    make_topic = fields["topic"].default_factory
    assert make_topic is not dataclasses.MISSING
    scene.kinds, scene.topic = cast(tuple[StateKind, StateKind], fields["kinds"].default), make_topic()
    return SceneTopology(scene, with_streams=with_streams)


def write_module(scene: Scene, *, with_streams: bool = False) -> str:
    """Write the module; returns how the command line names its topology."""
    file = scene.folder / f"scene_{'apart' if scene.apart else 'shortcut'}.py"
    file.write_text(
        "from pathlib import Path\nfrom tests.cli.making import topology_in\n"
        f"topology = topology_in(Path({str(scene.folder)!r}), {bool(scene.apart)}, with_streams={with_streams})\n"
        "nothing = 5\n"
    )
    return f"{file}:topology"
