"""A sweep of 10,000 finished runs on the null engine: the time to plan it, read its status, and continue it.

The folder is written and not measured: a journal and a manifest for each run, as a sweep leaves them. The runs that
follow take no time, so that all that is timed is overhead. It is timed at a tenth of the size as well: what grows
in proportion takes ten times as long at most.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import hdbkit
from bench.common import quick_or, scratch, show, timed, title
from hdbkit.config import SweepSpec, Target
from hdbkit.config.metric import Metric
from hdbkit.contracts import ServerControl
from hdbkit.experiment import experiment_progress, resume
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, plan_sweep
from hdbkit.experiment.plan import run_plan
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import JournalLine, Step
from hdbkit.results.manifest import CheckLine, Event, Manifest, Status
from hdbkit.results.run_result import ClientUse, LittlesLaw, RunResult
from hdbkit.servers import control

CONFIGURATIONS, USERS, BLOCKS = 500, (1, 2, 4, 8), 5
"""The full size; the small one has a tenth of the configurations."""
REPEATS = quick_or(2, 5)
NEXT_RUNS = 20
MAX_S = 1.0

NO_FIGURES = RunResult(
    metric_value=None,
    engine_tpm=None,
    window_s=1.0,
    completed=0,
    failed=0,
    retries=0,
    operations_per_s=0,
    operations={},
    errors={},
    client_cpu_us_per_operation=None,
    server_cpu_us_per_operation=None,
    per_operation=ClientUse(),
    host_cpu_pct=None,
    littles_law=LittlesLaw(users_by_law=1.0, users=1, ratio=1.0, mean_us=None, outside_pct=None),
    counters={},
)
"""The result of a run of which nothing but the metric is of interest."""


def spec(configurations: int, blocks: int) -> SweepSpec:
    """A grid of this number of configurations of the null engine's settings."""
    speeds = tuple(f"{1 + place / 100:g}" for place in range(configurations // 2))
    settings = {"speed": speeds, "commit": ("on", "off")}
    return SweepSpec(name="large", settings=settings, virtual_users=USERS, blocks=blocks, cooldown_s=0)


def finished(folder: ExperimentFolder, plan: SweepPlan) -> None:
    """Write the files of a sweep whose planned runs are all finished."""
    at = datetime.now(UTC) - timedelta(days=10)
    lines = [JournalLine(step=Step.STARTED, at=at, details={"pid": 1, "birth": "another boot/1"})]
    for planned in plan.runs:
        at += timedelta(seconds=60)
        run = run_plan(plan, planned, at)
        manifest = ended(run)
        path = RunFolder(folder.root / run.run_id)
        path.path.mkdir()
        (path.path / "manifest.json").write_text(manifest.model_dump_json(indent=1))
        facts: dict[str, Any] = {"metric_value": manifest.metric_value, "checks_failed": []}
        for step, details in ((Step.RUN_STARTED, PREPARED), (Step.RUN_FINISHED, facts)):
            lines.append(JournalLine(step=step, at=at, number=planned.number, run_id=run.run_id, details=details))
    text = "".join(f"{line.text}\n" for line in lines)
    (folder.path / "journal.ndjson").write_text(text)


PREPARED: dict[str, Any] = {
    "applied_by": "reload",
    "applied_s": 0.01,
    "restored_s": 0.0,
    "rebuilt_s": 0.0,
    "maintained_s": 0.0,
    "restarted_s": 0.0,
    "rested_s": 0.0,
    "busy_pct": None,
}


def ended(run: RunPlan) -> Manifest:
    """The manifest of a finished run."""
    now = datetime.now(UTC)
    stages = (Status.STARTING, Status.RAMPUP, Status.MEASURING, Status.FINISHING, Status.DONE)
    return Manifest(
        run_id=run.run_id,
        notice="",
        status=Status.DONE,
        history=[Event(status=status, at=now) for status in stages],
        plan=run,
        operations=["first", "second"],
        metric=Metric(name="TPS", title="operations per second", unit="TPS"),
        result=NO_FIGURES.model_copy(
            update={"metric_value": 1000.0 + (run.experiment.number if run.experiment else 0)}
        ),
        checks=[CheckLine(name=f"check {place}", passed=True, detail="as it should be") for place in range(20)],
    )


class Clocked:
    """Runs of no duration, with the time at which each began and ended."""

    def __init__(self, folder: ExperimentFolder) -> None:
        self.folder, self.begun, self.ended = folder, list[float](), list[float]()

    def __call__(self, run: RunPlan) -> Manifest:
        self.begun.append(time.monotonic())
        path = RunFolder(self.folder.root / run.run_id)
        path.path.mkdir()
        manifest = ended(run)
        path.write(manifest)
        self.ended.append(time.monotonic())
        return manifest

    @property
    def between_s(self) -> list[float]:
        """The time from the end of each run to the start of the next."""
        return [begun - over for over, begun in zip(self.ended, self.begun[1:], strict=False)]


def measured(root: Path, target: Target, controlled: ServerControl, configurations: int) -> dict[str, list[float]]:
    """The seconds of each operation on a sweep of this number of configurations."""
    at, whole = datetime.now(UTC), spec(configurations, BLOCKS)
    experiment_id = f"{at:%Y%m%d-%H%M%S}-large-{configurations}"
    folder = experiment_folder(root, experiment_id)
    took: dict[str, list[float]] = {}
    took["plan"] = [
        timed(lambda: folder.write_plan(plan_sweep(target, whole, experiment_id))) for _ in range(REPEATS)
    ]
    plan = folder.read_plan(SweepPlan)
    finished(folder, plan)
    took["status"] = [
        timed(lambda: experiment_progress(experiment_folder(root, experiment_id))) for _ in range(REPEATS)
    ]
    took["results"] = [timed(lambda: runs_frame(experiment_folder(root, experiment_id))) for _ in range(REPEATS)]
    took["resume"], took["next run"] = [], []
    for repeat in range(REPEATS):
        clocked = Clocked(folder)
        folder.write_plan(short(plan.extended(BLOCKS + repeat + 1), len(plan.runs) + NEXT_RUNS * (repeat + 1)))
        began = time.monotonic()
        resume(experiment_folder(root, experiment_id), lambda _: controlled, clocked)
        took["resume"].append(clocked.begun[0] - began)
        took["next run"] += clocked.between_s
    return took


def short(plan: SweepPlan, runs: int) -> SweepPlan:
    """The same sweep with only this number of its runs."""
    return plan.model_copy(update={"runs": plan.runs[:runs]})


def main() -> None:
    """Print each figure at both sizes."""
    title("journal: the overhead of a sweep with many finished runs, on the null engine")
    for configurations in (CONFIGURATIONS // 10, CONFIGURATIONS):
        runs = configurations * len(USERS) * BLOCKS
        with scratch() as root:
            target = hdbkit.Target(kind="nulldb", database=f"bench-{os.getpid()}", may_change_settings=True)
            for what, took in measured(root, target, control(target), configurations).items():
                limit = None if what == "results" else MAX_S
                show(f"{runs:,} finished runs: {what}", took, unit="s", at_most=limit)


if __name__ == "__main__":
    main()
