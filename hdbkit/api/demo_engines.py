"""A demo that compares two engines on the same data, each on a private server or in a file of its own.

A demo is a file ``params/demo-<name>.yaml``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from pydantic import Field

from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.api.compare import Comparison, of_sides
from hdbkit.api.executing import executing
from hdbkit.api.running import RunVerbs
from hdbkit.api.sides import results_of_sides
from hdbkit.config import Load, Target, read_params
from hdbkit.config.model import ConfigModel
from hdbkit.config.specs import AnyLoad, AnyWorkload
from hdbkit.databases import database
from hdbkit.errors import InputError
from hdbkit.experiment.plan import new_experiment_id
from hdbkit.experiment.sides import EnginesPlan, Side, in_blocks
from hdbkit.paths import data_folder
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.workloads import workload as workload_of

_PREFIX = "demo-"


class EngineDemo(ConfigModel):
    """Two engines, and what both of them execute."""

    noun: ClassVar[str] = "the demo"

    engines: tuple[str, str] = Field(description="kinds of databases, the base first; one without a server is a file")
    blocks: int = Field(default=3, ge=2, le=100, description="runs of each engine, in turn")
    workload: AnyWorkload = Field(description="workload and schema")
    load: AnyLoad = Field(default_factory=lambda: Load(virtual_users=1), description="load of each run")


class EngineDemoVerbs(RunVerbs):
    """Verbs that demonstrate several engines."""

    def plan_demo_engines(
        self, name: str = "h", *, spec: EngineDemo | None = None, blocks: int | None = None
    ) -> EnginesPlan:
        """Plan runs of two engines in turn, which ``demo_engines`` executes in this process, and ``start_experiment``
        in one of its own.

        Args:
            name: the demo, by the name of its file in ``params``: ``h`` for ``demo-h.yaml``.
            spec: another demo, instead of that of a file.
            blocks: the number of runs of each engine; by default that of the demo.

        Raises:
            InputError: there is no such demo.

        Example:
            >>> hdbkit.start_experiment(hdbkit.plan_demo_engines("h")).wait().ratio.sentence  # doctest: +SKIP
        """
        wanted = spec or _read(name)
        experiment_id = new_experiment_id(datetime.now(UTC), "engines")
        load, count = workload_of(wanted.workload).load(wanted.load), blocks or wanted.blocks
        sides = tuple(
            Side(
                name=side,
                target=Target(kind=kind, database=side),
                workload=wanted.workload,
                load=load,
                label=f"{experiment_id}-{side}",
            )
            for side, kind in zip((BASE, NEW), wanted.engines, strict=True)
        )
        return EnginesPlan(
            experiment_id=experiment_id,
            configurations=tuple({"engine": kind} for kind in wanted.engines),
            runs=in_blocks(sides, (load.virtual_users,), range(1, count + 1), experiment_id),
            sides=sides,
            virtual_users=(load.virtual_users,),
            blocks=count,
            seed=experiment_id,
            engines=wanted.engines,
        )

    @executing(plan_demo_engines)
    def demo_engines(self, folder: ExperimentFolder) -> Comparison:
        """Build a workload in two engines, run both in turn, and compare them; servers and data are removed at the
        end.

        The arguments are those of :func:`plan_demo_engines`.

        Raises:
            InputError: there is no such demo, or no binaries for a private server.
            HdbkitError: a built schema failed a check; no run was started.

        Example:
            >>> hdbkit.demo_engines("h").charts()["ratios"]  # doctest: +SKIP
        """
        return self._engines(folder)

    def _engines(self, folder: ExperimentFolder) -> Comparison:
        """The comparison of the runs of both engines that have ended so far."""
        plan = folder.read_plan(EnginesPlan)
        base, new = results_of_sides(self, folder, plan).values()
        if not base or not new:
            raise InputError(f"{folder.experiment_id} has not measured both engines yet; see: hdbkit experiments")
        titles = [database(Target(kind=kind, database="data")).title for kind in plan.engines]
        names = (f"{titles[0]} (base)", f"{titles[1]} (new)")
        return of_sides({BASE: base, NEW: new}, names, self, confidence=plan.confidence)


def _read(name: str) -> EngineDemo:
    known = {path.stem.removeprefix(_PREFIX): path for path in data_folder("params").glob(f"{_PREFIX}*.yaml")}
    if name not in known:
        raise InputError(f"there is no demo '{name}'; the demos of engines are: {', '.join(sorted(known))}")
    return read_params(known[name], EngineDemo)
