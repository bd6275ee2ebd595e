"""Two sides whose loads alternate in slices, on the null engine."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import hdbkit
from hdbkit.analysis.run.records import read_table
from hdbkit.config import Load
from hdbkit.config.preparation import Preparation, Reset
from hdbkit.errors import InputError
from hdbkit.results.manifest import Manifest
from hdbkit.slices import SliceOrder
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget, wait_for

LOAD = Load(rampup_s=0.5, duration_s=3, virtual_users=2)
AT_ONCE = Preparation(reset=Reset.NONE, cooldown_s=0)
TYPED = ("--slices", "--slice-s", 0.1, "--rampup-s", 0.5, "--duration-s", 3, "--cooldown-s", 0, "-u", 2)


def in_slices(base: str, new: str, blocks: int = 2, slice_s: float = 0.1) -> hdbkit.Comparison:
    """A comparison in slices."""
    return hdbkit.measure_in_turn(
        base, new, slices=True, slice_s=slice_s, blocks=blocks, load=LOAD, preparation=AT_ONCE
    )


def test_the_load_alternates_between_two_targets(command: HdbkitCommand, null_target: NullTarget) -> None:
    fast, slow = (null_target(latency_us=latency).url for latency in (2000, 4000))
    found = command("compare", fast, slow, *TYPED, "--blocks", 2, "--label", "pairs", "--json").json
    assert found["more"]["unit"] == "cycles of slices"
    assert found["best"]["verdict"] == "slower"
    assert found["best"]["ratio"] == pytest.approx(0.52, abs=0.08)
    assert "2 pairs of runs" in found["basis"]
    sides = [hdbkit.result(one) for one in hdbkit.runs()["run_id"]]
    assert {one.manifest.plan.label for one in sides} == {"pairs-base", "pairs-new"}
    stored = hdbkit.compare("pairs-base", "pairs-new")
    assert stored.ratio.ratio == pytest.approx(found["best"]["ratio"]), (
        "stored runs are compared by their slices, too"
    )
    one_pair = hdbkit.compare(stored.base[0].run_id, stored.new[0].run_id)
    assert one_pair.ratio.is_known, "cycles replicate within one pair"
    turned = hdbkit.compare("pairs-new", "pairs-base")
    assert turned.ratio.ratio == pytest.approx(1 / found["best"]["ratio"])
    with pytest.raises(InputError, match="name one on each side"):
        hdbkit.compare(stored.base[0].run_id, stored.new[1].run_id)
    for side in (stored.base, stored.new):
        failed = {line.name for one in side for line in one.manifest.checks if line.passed is False}
        assert failed <= {"CPU pressure"}, "counts and checks are those of the server of the run"


def test_users_begin_operations_only_in_the_slices_of_their_side(null_target: NullTarget) -> None:
    found = in_slices(*(null_target(latency_us=latency).url for latency in (1000, 1000)), blocks=1)
    for side in (found.base, found.new):
        (result,) = side
        manifest = result.manifest
        sides = _sides_at_start(manifest, result.folder.path)
        assert len(sides) > 100
        own = sides.count(manifest.plan.side_slices.side)  # type: ignore[union-attr]
        assert own > 0.9 * len(sides), "all but those before which a busy host took the core away"


def _sides_at_start(manifest: Manifest, folder: Path) -> list[int]:
    """Whose slice it was when each operation began."""
    slices, clock = manifest.plan.side_slices, manifest.clock
    assert slices is not None
    assert clock is not None
    order, since_ns = SliceOrder(slices), clock.start_monotonic_ns - slices.origin_ns
    rows = [read_table(path) for path in sorted((folder / "operations").glob("*.parquet"))]
    return [
        order.position(int((1000 * at_us + since_ns) // slices.slice_ns))
        for one in rows
        for at_us in one["t_start_us"]
    ]


def test_operations_that_are_too_long_for_a_slice_decide_nothing(null_target: NullTarget) -> None:
    found = in_slices(*(null_target(latency_us=latency).url for latency in (250_000, 250_000)), blocks=1)
    assert not found.ratio.is_known
    assert "use longer slices" in found.warnings[0]


def test_what_cannot_alternate_is_refused_with_every_reason(null_target: NullTarget) -> None:
    one, other = (null_target(latency_us=latency).url for latency in (1000, 1000))
    with pytest.raises(InputError, match="the same target"):
        hdbkit.plan_comparison(one, one, slices=True)
    with pytest.raises(InputError) as refused:
        hdbkit.plan_comparison(one, other, slices=True, load=Load(rate=10, duration_s=5))
    assert "rate" in str(refused.value)
    assert "10 cycles need 20 s" in str(refused.value)
    with pytest.raises(InputError, match="give one of both"):
        hdbkit.plan_comparison(one, other, slices=True, together=True)


@pytest.mark.long
def test_a_killed_comparison_repeats_both_runs_of_a_pair(command: HdbkitCommand, null_target: NullTarget) -> None:
    fast, slow = (null_target(latency_us=latency).url for latency in (1000, 2000))
    name = command("compare", fast, slow, *TYPED, "--blocks", 2, "--detach").out.strip()
    running = hdbkit.attach_experiment(name)
    wait_for(lambda: running.progress().done == 2)
    wait_for(lambda: len(hdbkit.runs()) >= 3)
    os.kill(running.folder.journal.state.executed_by or 0, signal.SIGKILL)
    wait_for(lambda: running.status is hdbkit.ExperimentStatus.KILLED)
    assert command("resume", name).code == 0
    found = running.result
    assert (len(found.base), len(found.new)) == (2, 2)
    assert found.ratio.verdict == "slower"
    assert "2 pairs of runs" in found.basis


@pytest.mark.long
def test_seven_blocks_are_units_and_equal_sides_are_alike(null_target: NullTarget) -> None:
    """Equal sides differ by chance in 4 % of comparisons, so no verdict is asked for; how often is simulated."""
    found = in_slices(*(null_target(latency_us=2000).url for _ in range(2)), blocks=7)
    assert found.basis.startswith("7 blocks of one session, both sides in slices of 0.1 s that alternate")
    assert found.ratio.is_known
    assert found.ratio.ratio == pytest.approx(1, abs=0.15), "a side whose pauses counted would have half of the rate"
