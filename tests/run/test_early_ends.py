"""Runs that end early: reported everywhere, not repeated, and not judged."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hdbkit import api
from hdbkit.api.sweeping import SweepResult, plan_checked
from hdbkit.cli import progress, show
from hdbkit.config import Load, SweepSpec, Target, TprocCSpec
from hdbkit.config.sweep_spec import AbortRules
from hdbkit.execution.handle import execute, start_run
from hdbkit.experiment import EventKind, ExperimentEvent, Follower, experiment_progress, resume, start
from hdbkit.experiment.course import outcome
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.plan import RunLimits, RunPlan, new_run_id
from hdbkit.results.experiment_folder import experiment_folder
from hdbkit.results.experiment_runs import ENDED_EARLY, runs_frame
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import Step
from hdbkit.results.manifest import Manifest, Status
from hdbkit.servers import control
from hdbkit.widgets.parts.experiment_view import progress_words
from tests.run.conftest import NullTarget
from tests.run.sweep_server import FileServer, begun, only, runner
from tests.unit.synthetic import figures

SLOW = "1"
EARLY = re.compile(r"ended early after [2-4](\.\d+)? s, at most ")
SPEC = SweepSpec(
    settings={"speed": ["10", "11", "12", "13", SLOW]},
    strategy="search",
    asked=4,
    blocks=2,
    virtual_users=(2,),
    load={"rampup_s": 0, "duration_s": 5},
    seed=7,
)
"""A search over one setting, whose bad value comes last."""


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the terminal is told."""
    said = io.StringIO()
    for place, name in ((show, "console"), (show, "notes"), (progress, "notes")):
        monkeypatch.setattr(place, name, Console(file=said, width=300))
    return said


def found(plan: RunPlan, results: Path, metric_value: float) -> Manifest:
    """What a whole run leaves that found this throughput; only the bad configuration's is done."""
    folder = RunFolder(results / plan.run_id)
    folder.path.mkdir()
    manifest = begun(plan).model_copy(update={"result": figures(metric_value)}).moved_to(Status.DONE)
    folder.write(manifest)
    return manifest


def test_a_bad_configuration_s_run_ends_early_and_is_reported_and_never_done_again(
    null_target: NullTarget, results: Path, screen: io.StringIO
) -> None:
    target = null_target(latency_us=20_000).with_(may_change_settings=True)
    plan = plan_checked(target, SPEC, None, "", api.DEFAULT)
    assert plan.configurations[plan.runs[-1].configuration] == {"speed": SLOW}

    def run_one(one: RunPlan) -> Manifest:
        assert one.experiment is not None
        assert (one.limits.required is None) == (one.experiment.number < 6)
        if one.experiment.settings["speed"] != SLOW:
            return found(one, results, metric_value=2_500 * float(one.experiment.settings["speed"]))
        start_run(one.target, one.workload, lambda _: one, results, lambda _: None)
        raise KeyboardInterrupt  # the sweep ends here, and its run goes on

    with pytest.raises(KeyboardInterrupt):
        start(plan, results, control, run_one)
    folder = experiment_folder(results, plan.experiment_id)
    last = [line for line in folder.journal.lines if line.number == 6]
    assert [line.step for line in last] == [Step.RUN_STARTED, Step.RUN_ENDED_EARLY]
    assert EARLY.match(last[1].note)

    reported: list[ExperimentEvent] = []
    resume(folder, control, run_one)
    Follower(folder, lambda step: (reported.append(step), progress.ExperimentLines()(step))).follow()
    assert [one.kind for one in reported].count(EventKind.ENDED_EARLY) == 1
    done = SweepResult(folder)
    assert list(done.runs["status"]) == ["done"] * 5 + [ENDED_EARLY]
    assert (done.failed, experiment_progress(folder).ended_early) == (0, 1)

    manifest = api.result(last[1].run_id).manifest
    assert (manifest.status, manifest.ended_early) == (Status.STOPPED, done.runs["note"].iloc[5].partition(";")[0])
    assert 2 <= manifest.measured.window_s < 5
    assert manifest.measured.metric_value == pytest.approx(done.runs["metric_value"].iloc[5])
    assert done.verdicts.set_index("label").loc[f"speed={SLOW}", "verdict"] == ENDED_EARLY

    show.finding(done)
    pages = (
        screen.getvalue(),
        done.report().read_text(),
        done._repr_html_(),
        progress_words(experiment_progress(folder)),
    )
    for page in pages[:3]:
        assert EARLY.search(page)
    assert "1 ended early" in pages[3]
    assert "1 of 6 runs ended early" in pages[0]
    assert "1 of 6 runs ended early" in pages[1]


def test_a_run_that_is_certain_to_break_a_rule_is_ended_then(null_target: NullTarget, results: Path) -> None:
    target = null_target(latency_us=2000, error_rate=0.5, error_class="constraint")
    load, schema = Load(rampup_s=0, duration_s=5, virtual_users=2), TprocCSpec(warehouses=2)
    run_id = new_run_id(datetime.now(UTC), target, schema, load)
    limits = RunLimits(abort=AbortRules(failed_share=0.1))
    manifest = execute(RunPlan(run_id=run_id, target=target, workload=schema, load=load, limits=limits), results)
    assert manifest.ended_early.startswith("ended early after ")
    assert manifest.ended_early.endswith(" s, with more than 10 % of its operations failed")
    end = outcome(manifest)
    assert end is not None
    assert (end.step, end.details) == (Step.RUN_FAILED, {"gives_up": True})
    assert "of its transactions failed, more than 10.00%" in end.note


@pytest.mark.parametrize("changes", [{}, {"end_early": False}, {"strategy": "grid"}])
def test_only_a_search_s_own_configurations_have_a_required_rate_and_it_continues_after_an_early_end(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    server, reported, barred = FileServer(tmp_path / "server"), [], []
    whole = runner(server, tmp_path)
    settings = {"flush": ["on", "off"], "memory": ["1GB", "2GB", "4GB", "8GB"]}
    asks = {"settings": settings, "strategy": "search", "asked": 2, "blocks": 3, "winner_blocks": 2, **changes}

    def run_one(plan: RunPlan) -> Manifest:
        manifest = whole(plan)
        assert plan.experiment is not None
        if not plan.limits.required:
            return manifest
        barred.append(plan.experiment.number)
        early = manifest.model_copy(
            update={"ended_early": "ended early after 12 s, at most 5 % of the fastest so far"}
        )
        return early.moved_to(Status.STOPPED)

    folder = start(
        plan_sweep(Target(kind="nulldb"), SweepSpec(**asks), "s"), tmp_path, only(server), run_one, reported.append
    )
    frame = runs_frame(folder).set_index("number")
    assert barred == list(frame.index[frame["status"] == ENDED_EARLY])
    assert bool(barred) == (not changes)
    assert not (frame.loc[barred, "fresh"] | (frame.loc[barred, "configuration"] == 0)).any()
    assert frame["fresh"].sum() == 10
    assert set(frame.drop(barred)["status"]) == {"done"}
    assert [one.planned.number for one in reported if one.kind is EventKind.ENDED_EARLY] == barred
