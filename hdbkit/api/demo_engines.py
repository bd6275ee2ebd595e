"""A demo that compares two engines on the same data, each on a private server or in a file of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from hdbkit.api.alternating import OnTurn
from hdbkit.api.compare import Comparison, ComparisonVerbs
from hdbkit.api.connection import ConnectionVerbs
from hdbkit.api.first_steps import require_sound
from hdbkit.api.running import OnTick
from hdbkit.config import Target, read_params
from hdbkit.config.engine_demo import EngineDemo
from hdbkit.contracts import Capability
from hdbkit.databases import database
from hdbkit.errors import InputError
from hdbkit.loading import BuildProgress
from hdbkit.paths import data_folder
from hdbkit.servers import private_server

_PREFIX = "demo-"


class EngineDemoVerbs(ConnectionVerbs, ComparisonVerbs):
    """Verbs that demonstrate several engines."""

    def demo_engines(
        self,
        name: str = "h",
        *,
        spec: EngineDemo | None = None,
        blocks: int | None = None,
        say: Callable[[str], None] = lambda _: None,
        build_progress: BuildProgress | None = None,
        watch: OnTurn = lambda _: None,
        watch_run: OnTick | None = None,
    ) -> Comparison:
        """Build a workload in two engines, run both in turn, and compare them; servers and data are removed at the
        end.

        Args:
            name: the demo, by the name of its file in ``params``: ``h`` for ``demo-h.yaml``.
            spec: another demo, instead of that of a file.
            blocks: the number of runs of each engine; by default that of the demo.
            say: called with a line for each step.
            build_progress: called with a build's stage, rows and bytes.
            watch: called after each run.
            watch_run: called several times per second with the present run.

        Raises:
            InputError: there is no such demo, or no binaries for a private server.
            HdbkitError: a built schema failed a check; no run was started.

        Example:
            >>> hdbkit.demo_engines("h").charts()["ratios"]  # doctest: +SKIP
        """
        wanted = spec or _read(name)
        titles = [database(Target(kind=kind, database="data")).title for kind in wanted.engines]
        with ExitStack() as opened:
            targets = []
            for kind in wanted.engines:
                target = _opened(kind, opened)
                connection = self.connect(target)
                say(f"{connection.version} on {target.url}")
                require_sound(connection.build(workload=wanted.workload, progress=build_progress))
                targets.append(target)
            found = self.compare(
                *targets, run=True, blocks=blocks or wanted.blocks, workload=wanted.workload, load=wanted.load,
                watch=watch, watch_run=watch_run,
            )  # fmt: skip
        return replace(found, names=(f"{titles[0]} (base)", f"{titles[1]} (new)"))


def _read(name: str) -> EngineDemo:
    known = {path.stem.removeprefix(_PREFIX): path for path in data_folder("params").glob(f"{_PREFIX}*.yaml")}
    if name not in known:
        raise InputError(f"there is no demo '{name}'; the demos of engines are: {', '.join(sorted(known))}")
    return read_params(known[name], EngineDemo)


def _opened(kind: str, opened: ExitStack) -> Target:
    """A private server, or a file of an embedded engine."""
    if Capability.SERVER in database(Target(kind=kind, database="data")).capabilities:
        return opened.enter_context(private_server(kind)).target
    folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="hdbkit-demo-"))
    return Target(kind=kind, database=str(Path(folder) / "data"))
