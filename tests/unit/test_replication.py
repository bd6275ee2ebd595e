"""Sessions of runs, and what two sides replicate: shared sessions, sessions of their own, or blocks of one."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.verdicts.comparisons import called
from bench.verdicts.noise import autoregressive
from hdbkit.analysis.comparison.advice import Again
from hdbkit.analysis.comparison.replication import BASE, NEW, Unit, noise, replication
from hdbkit.analysis.comparison.sessions import runs_of
from hdbkit.analysis.comparison.sides import compared
from hdbkit.config import Target
from hdbkit.experiment.kinds.comparison import ComparisonPlan
from hdbkit.experiment.sides import Side, in_blocks
from hdbkit.results.finding import Verdict
from hdbkit.results.manifest import Event, HostFacts, Manifest, Status
from tests.unit.synthetic import METRIC, figures, write_run

MORNING = datetime(2026, 1, 1, 9, tzinfo=UTC)
COMMAND = "hdbkit compare before after --run"
SLICES = "hdbkit compare before after --slices"
AGAIN = Again(COMMAND)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return write_run(tmp_path_factory.mktemp("results") / "a-run", users=2, duration_s=2).manifest


def run(one: Manifest, hours: float, boot: str = "boot-1", lasted_h: float = 0.0) -> Manifest:
    """A run that started so many hours after the morning."""
    assert one.clock is not None
    begin = MORNING + timedelta(hours=hours)
    return one.model_copy(
        update={
            "run_id": f"run-{hours:06.2f}",
            "history": [Event(status=Status.STARTING, at=begin)],
            "host": HostFacts(name="lab", boot_id=boot),
            "clock": one.clock.model_copy(update={"start_wall": begin, "window_end_us": int(lasted_h * 3.6e9)}),
            "result": figures(1000.0),
        }
    )


def sessions(*sides: list[Manifest]) -> list[int]:
    """The session of each run in the order of time, numbered by first appearance."""
    found = runs_of(dict(zip((BASE, NEW), sides, strict=False)))["session"]
    return pd.factorize(found)[0].tolist()


def test_a_pause_of_two_hours_ends_a_session(one: Manifest) -> None:
    assert sessions([run(one, 0), run(one, 1.9), run(one, 3.9)]) == [0, 0, 1]


def test_a_long_run_is_no_pause(one: Manifest) -> None:
    assert sessions([run(one, 0, lasted_h=8), run(one, 8.1, lasted_h=8), run(one, 16.2)]) == [0, 0, 0]


def test_runs_of_both_sides_make_one_session_and_a_reboot_or_another_host_ends_it(one: Manifest) -> None:
    assert sessions([run(one, 0), run(one, 2.1)], [run(one, 1.1), run(one, 3.1)]) == [0, 0, 0, 0]
    assert sessions([run(one, 0), run(one, 0.2, "boot-2")], [run(one, 0.1), run(one, 0.3, "boot-2")]) == [0, 0, 1, 1]


def test_runs_without_times_share_a_session(one: Manifest) -> None:
    timeless = [run(one, n).model_copy(update={"history": [], "clock": None}) for n in range(2)]
    assert sessions(timeless) == [0, 0]


def runs(*order: str, scores: list[float] | None = None, users: int = 4) -> pd.DataFrame:
    """Runs in this order of sides and sessions: ``b1`` is a run of base in session 1."""
    frame = pd.DataFrame({"side": [BASE if word[0] == "b" else NEW for word in order]})
    frame["session"] = [word[1:] for word in order]
    return frame.assign(virtual_users=users, score=scores or np.arange(float(len(order))))


def test_sides_in_the_same_sessions_differ_within_each() -> None:
    found = replication(runs("b1", "n1", "n2", "b2", "b2", scores=[1.0, 2.0, 9.0, 4.0, 6.0]))
    assert (found.unit, found.words) == (Unit.SHARED_SESSIONS, "2 sessions with both sides")
    assert [one.tolist() for one in found.samples] == [[[1.0], [4.0]]]


@pytest.mark.parametrize(
    ("order", "slope"),
    [("b1 n1 " * 6, True), ("b1 b1 n1 n1 " * 4, False), ("b1 n1 b1 n1 b2 n2 b2 n2 b3 n3 b3 n3 b4 n4 b4 n4", True)],
)
def test_a_trend_is_no_difference_where_one_side_comes_first(order: str, slope: bool) -> None:
    """Stored runs of a fixed order and a fall of 1 % per run: a test on the differences calls 90 % of them."""
    draw, order_of = np.random.default_rng(3), order.split()
    sides = np.array([BASE if one[0] == "b" else NEW for one in order_of])
    noise_of = draw.normal(0, 0.003, (len(sides), 30)) - 0.01 * np.arange(len(sides))[:, None]
    differ = 0.02 * (sides == NEW)[:, None] + noise_of
    (equal, words), (found, _) = (
        called(sides, np.array([o[1:] for o in order_of]), one) for one in (noise_of, differ)
    )
    assert equal.sum() <= 3
    assert found.sum() >= 15, "a true difference is found"
    assert ("the slope" in words) is slope


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ("b1 n1 b2 n2 b3 n3", "base came first in each of 3 sessions"),
        ("n1 b1 n2 b2", "new came first in each"),
        ("b1 n1 b1 n1", "do not alternate at least three times"),
    ],
)
def test_where_a_trend_cannot_be_told_from_the_sides_it_is_undecided(order: str, why: str) -> None:
    found = replication(runs(*order.split()))
    assert found.unit is Unit.NONE
    assert why in found.words


def test_neighbouring_sessions_may_be_correlated_where_the_sides_are_not_in_turn() -> None:
    draw, nights = np.random.default_rng(9), [f"{side}{side}{n}" for side in "bn" for n in range(7)]
    made = autoregressive(0.7, (60, 14), draw)
    sides = np.array([BASE] * 7 + [NEW] * 7)
    assert called(sides, np.array(nights), made.T)[0].sum() <= 7, "18 of 60 where nights count as independent"
    assert "not in turn" in replication(runs(*nights, scores=made[0].tolist())).words
    in_turn = [night for pair in zip(nights[:7], nights[7:], strict=True) for night in pair]
    assert replication(runs(*in_turn, scores=made[0].tolist())).words == "7 sessions against 7"


def test_sides_in_sessions_of_their_own_have_the_means_of_sessions() -> None:
    found = replication(runs("b1", "b1", "n2", "b3", "n4", "n5"))
    assert (found.unit, found.words) == (Unit.SESSIONS, "2 sessions against 3")
    assert [one.ravel().tolist() for one in found.samples] == [[2.0, 4.0, 5.0], [0.5, 3.0]]


def test_few_shared_sessions_among_many_do_not_decide_alone() -> None:
    order = [f"b{number}" for number in range(1, 8)] + [f"n{number}" for number in range(6, 12)]
    assert replication(runs(*order)).unit is Unit.SESSIONS


@pytest.mark.parametrize(
    ("order", "differences", "after"),
    [
        ("bnnbnb", [1.0, -1.0, -1.0], [0.0, 0.0, -1.0]),
        ("bnnbbnn", [1.0, -1.0, 1.5], [0.0, 0.0, 0.5]),
        ("bbbnnbnb", [2.0, -1.0, -1.0], [0.0, 0.0, -1.0]),
    ],
)
def test_within_one_session_a_block_is_a_stretch_with_both_sides(
    order: str, differences: list[float], after: list[float]
) -> None:
    found = replication(runs(*(f"{side}1" for side in order)))
    assert found.unit is Unit.BLOCKS
    assert found.words.startswith("3 blocks of one session, with 3 blocks of two a wave on the host")
    assert found.samples[0].ravel().tolist() == pytest.approx(differences)
    assert found.after is not None and found.after.ravel().tolist() == pytest.approx(after)


@pytest.mark.parametrize(
    ("order", "why"),
    [
        (["b1", "b1", "n2", "n2"], "with one session per side"),
        (["b1", "b2", "n3"], "new has one session"),
        (["b1", "n2", "n3"], "base has one session"),
        (["b1", "b1", "b1", "n1", "n1", "n1"], "do not alternate"),
        (["b1", "n1"], "do not alternate"),
        (["b1", "n1", "n1", "b1"], "do not alternate at least three times"),
    ],
)
def test_without_replication_it_is_undecided_and_the_sentence_names_the_command(order: list[str], why: str) -> None:
    values = runs(*order).assign(metric_value=lambda one: 100.0 + one["score"])
    found = compared(values, METRIC, again=AGAIN)
    assert (found.design.unit, found.ratio.verdict) == (Unit.NONE, "undecided")
    assert not found.ratio.is_known
    assert why in found.ratio.sentence
    assert f"{COMMAND} --blocks " in found.ratio.sentence


def test_sides_that_were_measured_together_are_named_and_so_is_the_command() -> None:
    times = pd.to_datetime("2026-01-02", utc=True) + pd.to_timedelta([0, 1, 20, 21, 40, 41], unit="s")
    values = [1000.0, 1004.0, 1003.0, 1010.0, 1006.0, 1000.0]
    both = runs(*["b1", "n1"] * 3).assign(metric_value=values, started=times)
    two_servers = Again(COMMAND, SLICES)
    for length_s, together in ((10, True), (0.5, False)):
        found = compared(both.assign(ended=times + pd.Timedelta(seconds=length_s)), METRIC, again=two_servers)
        assert found.design.together is together
        assert ("both sides at the same time" in found.design.words) is together
        assert (f"{COMMAND} --together --blocks" in found.advice) is together


def test_runs_of_which_one_took_longer_to_start_were_measured_together(one: Manifest) -> None:
    late = [Event(status=Status.STARTING, at=MORNING + timedelta(hours=hours - 0.5)) for hours in (0, 1)]
    slow = [run(one, hour, lasted_h=0.4).model_copy(update={"history": [late[hour]]}) for hour in (0, 1)]
    found = runs_of({BASE: slow, NEW: [run(one, hour, lasted_h=0.4) for hour in (0, 1)]})
    assert compared(found, METRIC).design.together


def test_no_number_of_blocks_is_advised_that_would_not_decide() -> None:
    values = [1000.0, 2000.0, 500.0, 1000.0, 1000.0, 1010.0]
    found = compared(runs("b1", "n1", "n1", "b1", "b1", "n1").assign(metric_value=values), METRIC, again=AGAIN)
    assert found.ratio.verdict == "undecided"
    assert found.ratio.sentence.endswith(
        "more than 1,000 blocks would be needed at this noise; use longer runs or a quieter host"
    )


def test_slices_are_advised_instead_of_very_many_blocks() -> None:
    values = pd.Series([1000.0, 1080.0, 930.0, 1000.0, 1000.0, 1005.0])
    noisy = runs("b1", "n1", "n1", "b1", "b1", "n1").assign(metric_value=values)
    advised = [compared(noisy, METRIC, again=Again(COMMAND, one)).advice for one in ("", SLICES)]
    assert re.search(r"more blocks would decide with 80 %, about \d{2,3} blocks", advised[0])
    assert advised[1].endswith(f"let the load alternate between both sides in slices: {SLICES}")


def test_more_blocks_spend_what_is_left_of_the_error_rate(one: Manifest) -> None:
    side = Side(name="a", target=Target(kind="nulldb"), workload=one.plan.workload, load=one.plan.load, label="a")
    planned = ComparisonPlan(
        experiment_id="e", configurations=({}, {}), sides=(side, side), virtual_users=(1,), blocks=8, seed="e",
        runs=in_blocks((side, side), (1,), range(1, 9), "e"), names=("a", "b"), smallest_effect=0.02,
    )  # fmt: skip
    longer = planned.extended(16).extended(16)
    again = planned.model_copy(update={"before": planned.ends})
    assert [one.confidence for one in (planned, longer, again)] == pytest.approx([0.96, 0.995, 0.995])
    assert planned.confidence_after(16) == pytest.approx(0.995)
    assert (longer.ends, again.ends, again.extended(16).ends) == ((8, 16), (8, 16), (8, 16, 24))


def test_the_number_of_blocks_is_a_range_that_the_uncertainty_of_the_noise_leaves() -> None:
    order = ["b1", "n1"] * 3
    values = [1000.0, 1004.0, 1003.0, 1010.0, 1006.0, 1000.0]
    found = compared(runs(*order).assign(metric_value=values), METRIC, smallest_effect=0.01, again=AGAIN)
    assert found.ratio.verdict == "undecided"
    advised = re.search(r"about (\d+) blocks \((\d+) to (\d+)\): .* --blocks (\d+)$", found.ratio.sentence)
    assert advised is not None
    blocks, low, high, typed = map(int, advised.groups())
    assert 3 < low < blocks < high
    assert typed == blocks


@pytest.mark.parametrize("order", [["b1", "n1"] * 3, ["b1", "n1"]])
def test_an_experiment_is_not_advised_to_do_what_it_did_but_to_go_on(order: list[str]) -> None:
    values = [1000.0, 1004.0, 1003.0, 1010.0, 1006.0, 1000.0][: len(order)]
    frame = runs(*order).assign(metric_value=values)
    found = compared(frame, METRIC, smallest_effect=0.01, again=Again(resume="hdbkit resume ID"))
    assert found.ratio.verdict == "undecided"
    advised = re.search(r"; more blocks would decide.*: hdbkit resume ID --blocks (\d+)$", found.ratio.sentence)
    assert advised is not None
    assert int(advised[1]) > len(order) // 2


def test_each_count_of_users_has_its_own_blocks() -> None:
    frame = pd.concat([runs(*["b1", "n1"] * 2, users=1), runs(*["b1", "n1"] * 3, users=8), runs("n1", users=9)])
    found = replication(frame)
    assert found.samples[0].shape == (3, 3)
    assert (~np.isnan(found.samples[0])).sum(axis=0).tolist() == [2, 3, 0]


def test_a_level_of_the_session_does_not_make_shared_sessions_differ() -> None:
    """Sessions of 10 %, runs of 1 %: a true 3 % is found where both sides share the sessions."""
    draw = np.random.default_rng(6)
    rows = [
        (side, f"{session}", 4, 1000 * level * factor * float(np.exp(draw.normal(0, 0.005))))
        for session, level in enumerate(np.exp(draw.normal(0, 0.1, 5)))
        for side, factor in ((BASE, 1.0), (NEW, 1.03)) * 2
    ]
    frame = pd.DataFrame(rows, columns=["side", "session", "virtual_users", "metric_value"])
    found = compared(frame, METRIC)
    assert (found.ratio.verdict, found.design.unit) == ("faster", Unit.SHARED_SESSIONS)
    alone = compared(frame.assign(session=frame["side"] + frame["session"]), METRIC)
    assert (alone.ratio.verdict, alone.basis[:21]) == ("undecided", "5 sessions against 5;")


def test_equal_sides_in_sessions_of_their_own_are_seldom_called_different() -> None:
    draw = np.random.default_rng(7)
    order = [f"{side}{side}{number}" for side in "bn" for number in range(3) for _ in range(3)]
    levels = np.repeat(draw.normal(0, 0.01, (6, 60)), 3, axis=0) + draw.normal(0, 0.01, (18, 60))
    sides = np.array([BASE if one[0] == "b" else NEW for one in order])
    assert called(sides, np.array(order), levels)[0].sum() <= 5, "Welch's test on runs calls 11"


def test_the_noise_of_sessions_is_told_from_that_of_runs() -> None:
    draw = np.random.default_rng(8)
    order = [f"b{session}" for session in range(800) for _ in range(3)] + ["n0"]
    levels = np.append(np.repeat(draw.normal(0, 0.02, 800), 3) + draw.normal(0, 0.03, 2400), 0.0)
    found = noise(runs(*order, scores=levels.tolist()))
    assert (found.session, found.run) == (pytest.approx(0.02, rel=0.15), pytest.approx(0.03, rel=0.1))
    assert found.words.startswith("noise of a session ")
    alone = noise(runs("b1", "b2", "n1", "n2"))
    assert np.isnan(alone.run)
    assert noise(runs("b1", "n1")).words == ""


def test_noise_beyond_all_measure_leaves_it_undecided() -> None:
    frame = runs("b1", "b2", "n3", "n4").assign(metric_value=[1e-90, 1e90, 1e-90, 1e90])
    assert compared(frame, METRIC).ratio.verdict == "undecided"


def test_times_with_and_without_a_zone_are_those_of_utc(one: Manifest) -> None:
    naive = run(one, 0.5).model_copy(update={"history": [Event(status=Status.DONE, at=datetime(2026, 1, 1, 9, 30))]})
    assert sessions([run(one, 0), naive, run(one, 2)]) == [0, 0, 0]


def test_a_comparison_reads_times_from_the_runs(one: Manifest, tmp_path: Path) -> None:
    starts = {BASE: (0, 0.3, 0.4, 0.7, 0.8, 1.1), NEW: (0.1, 0.2, 0.5, 0.6, 0.9, 1.0)}
    turns = {side: [run(one, hours) for hours in each] for side, each in starts.items()}
    assert compared(runs_of(turns), METRIC).design.words == "6 blocks of one session"


def test_counts_of_users_that_are_decided_in_opposite_directions_have_no_mean_as_headline() -> None:
    draw = np.random.default_rng(2)
    rows = [
        {"side": side, "virtual_users": users, "score": apart * (side == NEW) + draw.normal(0, 0.002)}
        for block in range(6)
        for users, apart in ((1, 0.12), (64, -0.03))
        for side in ((BASE, NEW), (NEW, BASE))[block % 2]
    ]
    frame = pd.DataFrame(rows).assign(session="one")
    found = compared(frame.assign(metric_value=1000 * np.exp(frame["score"])), METRIC)
    assert [ratio.verdict for ratio in found.by_users] == [Verdict.FASTER, Verdict.SLOWER]
    assert found.ratio.verdict is Verdict.UNDECIDED
    assert found.answer.startswith("new: it depends on the number of virtual users: new at 1 virtual user is 12.")
    assert "; new at 64 virtual users is " in found.answer


def test_an_undecided_comparison_states_what_it_would_have_found() -> None:
    draw = np.random.default_rng(2)
    rows = [
        {"side": side, "virtual_users": 1, "score": draw.normal(0, 0.05)}
        for block in range(6)
        for side in ((BASE, NEW), (NEW, BASE))[block % 2]
    ]
    frame = pd.DataFrame(rows).assign(session="one")
    ratio = compared(frame.assign(metric_value=1000 * np.exp(frame["score"])), METRIC).ratio
    assert ratio.verdict is Verdict.UNDECIDED and ratio.detectable is not None
    assert ratio.high is not None and ratio.ratio is not None
    assert ratio.detectable > ratio.high / ratio.ratio - 1, "more than the half width, which finds half of them"
    assert f"{100 * ratio.detectable:.1f} % or more would have been found with 80 %" in ratio.sentence


def test_sides_are_equivalent_by_two_one_sided_tests() -> None:
    """The interval of 95 % ends beyond 2 %, that of 90 % within: twice the error rate, of which one side can err."""
    away = [0.021, -0.021, 0.018, -0.018, 0.015, -0.015]
    rows = [
        {"side": side, "score": apart * (side == NEW)}
        for block, apart in enumerate(away)
        for side in ((BASE, NEW), (NEW, BASE))[block % 2]
    ]
    frame = pd.DataFrame(rows).assign(session="one", virtual_users=1)
    frame = frame.assign(metric_value=1000 * np.exp(frame["score"]))
    ratio = compared(frame, METRIC).ratio
    assert ratio.low is not None and ratio.low < 0.98
    assert ratio.verdict is Verdict.EQUIVALENT
    assert "(90 % interval 1." in ratio.sentence
