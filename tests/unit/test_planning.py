"""The power of a planned sweep: what it promises is found, and the noise is that of recent results."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import hdbkit
from bench.verdicts.judging import intervals
from bench.verdicts.sweeps import PLANNED, placed, runs_in_block, turns
from hdbkit.analysis.statistics.detection import Design, detectable, detection, pooled_noise
from hdbkit.api import PlannedHosts, Workspace
from hdbkit.config import SweepSpec, Target
from hdbkit.experiment import plan as experiment_plan
from hdbkit.experiment import start
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, plan_sweep
from hdbkit.plan import new_run_id
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import HostFacts, Manifest
from hdbkit.run_order import baseline_runs
from tests.conftest import HdbkitCommand
from tests.run.sweep_server import FileServer, measured, only, runner
from tests.unit.synthetic import changed
from tests.widgets.conftest import build_null


@pytest.mark.parametrize(("size", "blocks"), [(2, 6), (2, 12), (4, 5), (8, 3)])
def test_what_is_promised_at_80_percent_is_found(size: int, blocks: int) -> None:
    design, noise, sweeps = Design(size - 1, 1, blocks, PLANNED, baseline_runs(size - 1)), 0.02, 2000
    effect, draw, runs = detectable(design), np.random.default_rng(size), blocks * runs_in_block(size)
    timed = noise * draw.normal(size=(sweeps, runs)) - 0.04 * np.linspace(0, 1, runs)
    effects = [0, np.expm1(effect * noise), *[0] * (size - 2)]
    low, _ = intervals(placed(timed, turns(size, blocks, sweeps, draw), effects), PLANNED)
    assert 0.74 <= (low[:, 0] > 0).mean() <= 0.86


def test_more_blocks_find_less_and_more_comparisons_do_not() -> None:
    design = Design(3, 1, 5, PLANNED)
    assert detection(design, np.array([detectable(design)])) == pytest.approx([0.8], abs=0.001)
    assert detectable(Design(3, 1, 10, PLANNED)) < detectable(design) < detectable(Design(3, 1, 3, PLANNED))
    assert detectable(design) < detectable(Design(3, 1, 5, 0.999))
    probabilities = detection(design, np.linspace(0, 6, 20))
    assert probabilities[0] < 0.04
    assert (np.diff(probabilities) >= 0).all() and probabilities[-1] > 0.99


def test_the_range_of_the_noise_has_its_sources_in_it() -> None:
    assert pooled_noise([], []) is None
    noise = pooled_noise([0.01, 0.05], [30, 10])
    assert noise and noise.low <= 0.01 and noise.high >= 0.05
    assert noise.estimate == pytest.approx(np.sqrt((30 * 0.01**2 + 10 * 0.05**2) / 40))
    few, many = pooled_noise([0.02], [3]), pooled_noise([0.02], [100])
    assert few and many and few.high > 0.03 > many.high > 0.02 > many.low > few.low


def scaled(manifest: Manifest, root: Path, log: float) -> Manifest:
    """The same run with another result, also on disk."""
    value = manifest.measured.metric_value * float(np.exp(log))
    other = changed(manifest, metric_value=value)
    RunFolder(root / manifest.run_id).write(other)
    return other


def planned(name: str = "sweep-1", **changes: object) -> SweepPlan:
    spec = {"settings": {"flush": ["on", "off"], "memory": ["1GB", "2GB"]}, "blocks": 4, **changes}
    return plan_sweep(Target(kind="nulldb", database="lab"), SweepSpec(**spec), name)


def test_without_results_the_power_is_that_of_three_noises(tmp_path: Path) -> None:
    power = Workspace(results=tmp_path).planned_power(planned())
    assert power and power.noise is None
    assert power.effects["noise"].tolist() == [0.01, 0.03, 0.1]
    assert power.effects["effect"].is_monotonic_increasing
    assert power.sentence.startswith(
        "4 blocks find an effect of 3.1, 9.4 and 35 % with a probability of 80 %, at noise of 1, 3 and 10 % between"
    )
    few = Workspace(results=tmp_path).planned_power(planned(blocks=3, settings={"flush": ["on", "off"]}))
    assert few and "e+" not in few.sentence, "a large effect is written in full"
    assert set(power.curves["name"]) == {"noise of 1 %", "noise of 3 %", "noise of 10 %"}
    assert Workspace(results=tmp_path).planned_power(planned(strategy="search")) is None
    assert Workspace(results=tmp_path).planned_power(planned(settings={"flush": ["on"]})) is None
    two = planned(blocks=2, settings={"flush": ["on", "off"]})
    assert Workspace(results=tmp_path).planned_power(two) is None, "two blocks of two have no noise"


@pytest.mark.parametrize(("users", "blocks", "comparisons"), [((1, 4, 16), 3, 2), ((4,), 3, None), ((1, 4), 1, None)])
def test_a_profile_compares_its_user_counts_in_blocks(
    results: Path, users: tuple[int, ...], blocks: int, comparisons: int | None
) -> None:
    at = build_null(Target(kind="nulldb", database=f"p{len(users)}{blocks}"))
    power = hdbkit.planned_power(hdbkit.plan_profile("nightly", at, virtual_users=users, blocks=blocks))
    assert (power and (power.comparisons, power.counts, power.blocks)) == (comparisons and (comparisons, 1, blocks))
    hdbkit.connect(at).drop()


def test_the_noise_is_that_of_recent_sweeps_of_the_same_target_workload_and_load(
    tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = itertools.count()
    monkeypatch.setattr(experiment_plan, "new_run_id", lambda *given: f"{new_run_id(*given)}-{next(count)}")
    server = FileServer(tmp_path / "server")
    run_one, draw = runner(server, results), np.random.default_rng(1)
    start(planned(), results, only(server), lambda plan: scaled(run_one(plan), results, float(draw.normal(0, 0.05))))
    power = hdbkit.planned_power(planned("sweep-2", blocks=8))
    assert power and power.noise
    assert 0.02 < power.noise.low < power.noise.estimate < power.noise.high < 0.15
    assert power.source == "1 recent sweep"
    assert power.sentence.endswith("in 1 recent sweep of this target, workload and load")
    assert set(power.curves["name"]) == {"8 blocks", "16 blocks", "32 blocks"}
    found = power.curves.dropna()
    assert (found["low"] <= found["probability"]).all() and (found["probability"] <= found["high"]).all()
    for changes in ({"load": {"duration_s": 7}}, {"workload": {"warehouses": 7}}):
        other = hdbkit.planned_power(planned("sweep-2", **changes))
        assert other and (other.noise is None) == ("load" in changes), "the sweep's schema is not known"


def test_without_sweeps_the_noise_is_that_between_neighbouring_runs(results: Path) -> None:
    whole = planned(settings={"flush": ["on", "off"]}, blocks=6)
    draw = np.random.default_rng(2)
    for number, one in enumerate(whole.runs):
        run = experiment_plan.run_plan(whole, one, datetime(2026, 1, 1, 0, 0, number, tzinfo=UTC))
        alone = run.model_copy(update={"experiment": None, "run_id": f"2026-{number:02}"})
        scaled(measured(alone, results), results, float(draw.normal(0, 0.03)) - 0.02 * number)
    power = hdbkit.planned_power(planned())
    assert power and power.noise and power.source == "12 recent runs"
    assert 0.015 < power.noise.estimate < 0.06, "the drift is not noise"


def test_the_plan_on_the_command_line_has_the_power_and_its_chart(command: HdbkitCommand, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text("settings: {flush: [on, off]}\nblocks: 3\n")
    words = ("plan", "nulldb:///lab", str(tmp_path / "sweep.yaml"))
    said = command(*words, "--chart", str(tmp_path / "power.svg"))
    assert "with a probability of 80 %" in said.out
    assert "each run has all configurations in turn" in said.out
    lists = command(*words, "--workload", "tproc_h").out
    assert "TPROC-H" in lists and "in turn" not in lists, "its runs have no slices"
    assert "Which effect does the sweep find?" in (tmp_path / "power.svg").read_text() or said.code == 0
    power = json.loads(command(*words, "--json").out)["power"]
    assert (power["blocks"], power["noise"], len(power["effects"])) == (3, None, 3)


def test_a_plan_by_slices_has_a_run_per_block_and_states_a_window_that_is_too_short(
    command: HdbkitCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "targets.yaml").write_text("lab: {kind: nulldb, may_change_settings: true}\n")
    monkeypatch.setenv("HDBKIT_TARGETS", str(tmp_path / "targets.yaml"))
    file = tmp_path / "sweep.yaml"
    load = "load: {rampup_s: 1, duration_s: 10}\n"
    file.write_text(f"settings: {{flush: [on, off]}}\nblocks: 3\ncompare_by: slices\ntime_budget_s: 70\n{load}")
    words = ("plan", "lab", str(file))
    said = command(*words).out
    assert "3 runs, " in said and ": 2 configurations in slices of 0.25 s, 1 user counts x 3 blocks" in said
    assert "the server applies them: slices of 2 s; load.duration_s: 10 cycles of 2 slices need 40 s" in said
    file.write_text(file.read_text() + "slice_s: 1\n")
    refused = command(*words)
    assert refused.code == 2 and "10 cycles of 2 slices need 20 s, more than 10 s" in refused.err


def measured_run(root: Path, users: int, cpu_us: float, per_s: float) -> None:
    """A stored run with so many users, client CPU time per operation and operations per second."""
    whole = planned(settings={"flush": ["on", "off"]}, blocks=2, virtual_users=[users])
    run = experiment_plan.run_plan(whole, whole.runs[0], datetime(2026, 1, 1, tzinfo=UTC))
    manifest = measured(run.model_copy(update={"run_id": f"2026-u{users}"}), root)
    figures = {"client_cpu_us_per_operation": cpu_us, "operations_per_s": per_s}
    other = changed(manifest, **figures).model_copy(update={"host": HostFacts(cores=8)})
    RunFolder(root / manifest.run_id).write(other)


def test_the_load_hosts_of_a_plan_follow_from_the_cpu_time_of_a_stored_run(tmp_path: Path) -> None:
    def needed(**load: object) -> PlannedHosts | None:
        return Workspace(results=tmp_path).planned_hosts(planned(virtual_users=[10, 1000], load=load))

    assert needed() is None
    measured_run(tmp_path, 100, cpu_us=300, per_s=10_000)
    found = needed(duration_s=7, cluster="local:2")
    assert found and (found.measured_users, found.operations_per_s) == (100, 100_000)
    assert (found.cores_used, found.hosts) == (pytest.approx(30), 6), "30 cores, and 5.6 of each host"
    assert found.sentence.startswith("load hosts for 1,000 virtual users: 6 of 8 cores, at 70 % of their CPU time;")
    measured_run(tmp_path, 2000, cpu_us=400, per_s=14_000)
    found = needed()
    assert found and (found.hosts, found.run_id) == (1, "2026-u2000"), "no rate is extrapolated"
    found = needed(rate=140_000)
    assert found and (found.operations_per_s, found.hosts) == (140_000, 10)
    assert needed(isolation="serializable") is None
