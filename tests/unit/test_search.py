"""An adaptive search: its requests, and that its plan grows and resumes like a grid's."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from hdbkit.analysis.sweep.search import Configuration, next_configurations
from hdbkit.config import SweepSpec, Target
from hdbkit.errors import ConfigErrors
from hdbkit.experiment import resume, start
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, plan_sweep, with_asked
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.journal import Step
from hdbkit.results.manifest import Manifest
from tests.run.sweep_server import FileServer, only, runner

VALUES = {"size": ["1MB", "2MB", "4MB", "8MB"], "users": ["1", "2", "3", "4"], "mode": ["a", "b", "c", "d"]}
POINTS = [dict(zip(VALUES, point, strict=True)) for point in itertools.product(*VALUES.values())]


def reached(one: Configuration) -> float:
    """A peak at 4MB, 3 users and mode b."""
    far = [VALUES["size"].index(one["size"]) - 2, VALUES["users"].index(one["users"]) - 2]
    return -0.06 * sum(steps**2 for steps in far) - 0.1 * (one["mode"] != "b")


def searched(seed: int, blocks: int = 3, asked: int = 5) -> list[tuple[Configuration, float | None]]:
    first = [POINTS[0], *random.Random(seed).sample(POINTS[1:], asked)]
    tried: list[tuple[Configuration, float | None]] = [(one, reached(one) - reached(POINTS[0])) for one in first]
    for block in range(blocks - 1):
        more = next_configurations(VALUES, POINTS, tried, asked, seed + block)
        tried += [(one, reached(one) - reached(POINTS[0])) for one in more]
    return tried


def test_a_search_finds_the_peak_in_a_quarter_of_the_grid() -> None:
    found = [max(reached(one) for one, _ in searched(10 * seed)) for seed in range(5)]
    assert sum(one > -0.01 for one in found) >= 4


def test_nothing_is_asked_twice_and_nothing_that_is_not_allowed() -> None:
    allowed = [one for one in POINTS if one["mode"] != "b"]
    tried: list[tuple[Configuration, float | None]] = [(allowed[0], 0.0), (allowed[1], None)]
    asked = next_configurations(VALUES, allowed, tried, 100, 1)
    texts = [tuple(one.values()) for one in asked]
    assert len(texts) == len(set(texts)) == len(allowed) - 2
    assert all(one in allowed for one in asked)
    assert next_configurations(VALUES, allowed, tried, 4, 1) == asked[:4]


def spec(**changes: object) -> SweepSpec:
    settings = {"flush": ["on", "off"], "memory": ["1GB", "2GB", "4GB", "8GB"]}
    return SweepSpec(**{"settings": settings, "strategy": "search", "asked": 2, "blocks": 3, **changes})


def test_the_default_comes_first_and_each_block_has_it_again() -> None:
    plan = plan_sweep(Target(kind="nulldb"), spec(), "s")
    assert plan.configurations[0] == {"flush": "on", "memory": "1GB"}
    assert sorted(one.configuration for one in plan.runs) == [0, 1, 2]
    longer = with_asked(plan, [{"flush": "off", "memory": "8GB"}])
    assert longer.runs[:3] == plan.runs
    assert sorted(one.configuration for one in longer.runs if one.block == 2) == [0, 3]
    assert plan.estimated_s == pytest.approx(
        3 * plan_sweep(Target(kind="nulldb"), spec(blocks=2), "s").estimated_s / 2
    )
    assert plan.extended(5).spec.blocks == 5


def test_what_needs_a_restart_stands_together() -> None:
    plan = plan_sweep(Target(kind="nulldb"), spec(), "s").model_copy(update={"needs_restart": ("memory",)})
    asked = [{"flush": flush, "memory": size} for flush in ("on", "off") for size in ("1GB", "2GB", "8GB")]
    for seed in range(5):
        grown = with_asked(plan.model_copy(update={"spec": spec(seed=seed)}), asked)
        whole = plan_sweep(plan.target, spec(seed=seed, asked=7), "s", needs_restart=("memory",))
        for made, block, different in ((grown, 2, 3), (whole, 1, 4)):
            sizes = [made.configurations[one.configuration]["memory"] for one in made.runs if one.block == block]
            assert len([key for key, _ in itertools.groupby(sizes)]) == different


def test_a_search_has_no_looks() -> None:
    with pytest.raises(ConfigErrors, match="looks are only for a grid"):
        spec(looks=[2, 3])


def plans(folder: ExperimentFolder) -> Sequence[Configuration]:
    return folder.read_plan(SweepPlan).configurations


def test_a_search_that_was_stopped_continues_as_it_would_have_gone_on(tmp_path: Path) -> None:
    whole, stopped = (tmp_path / name for name in ("whole", "stopped"))
    servers = {}
    for root in (whole, stopped):
        root.mkdir()
        servers[root] = FileServer(root / "server")
    plan = plan_sweep(Target(kind="nulldb"), spec(), "s")
    through = start(plan, whole, only(servers[whole]), runner(servers[whole], whole))
    done = runner(servers[stopped], stopped)
    count = itertools.count(1)

    def run_one(plan: RunPlan) -> Manifest:
        if next(count) == 5:
            raise KeyboardInterrupt
        return done(plan)

    with pytest.raises(KeyboardInterrupt):
        start(plan, stopped, only(servers[stopped]), run_one)
    folder = ExperimentFolder(stopped / "experiments" / "s")
    resume(folder, only(servers[stopped]), done)
    assert plans(folder) == plans(through)
    frame = runs_frame(folder)
    assert list(frame["status"]) == ["done"] * 9
    assert frame["configuration"].nunique() == 7
    grown = [line.details["blocks"] for line in folder.journal.lines if line.step is Step.EXTENDED]
    assert grown == [2, 3]
