"""Profiles: differences per user count, the gate, and the history."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdbkit import api
from hdbkit.analysis.comparison.gate import gate
from hdbkit.analysis.comparison.sides import compared
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.errors import InputError
from hdbkit.results.manifest import Event, ServerFacts, Status
from tests.conftest import HdbkitCommand
from tests.unit.sweeps import covers, synthetic_runs
from tests.unit.synthetic import METRIC, SETTINGS, figures, write_run

USERS = (1, 4)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two profiles: ``fast`` and ``slow`` of three blocks, and ``nightly``, which fell after 12 of 20 nights."""
    root = tmp_path_factory.mktemp("results")
    one = write_run(root / "a-run", users=2, duration_s=2)
    draw, began = np.random.default_rng(1), datetime(2026, 1, 1, 3, tzinfo=UTC)
    kept = {"fast": 3, "slow": 3, "nightly": 20}
    for name, times in kept.items():
        for night in range(times):
            for users in USERS:
                at = began + timedelta(days=night, minutes=users)
                run_id = f"{at:%Y%m%d-%H%M}-{name}-u{users}"
                level = {"fast": 1.0, "slow": 0.8, "nightly": 1.0 if night < 12 else 0.9}[name]
                load = one.manifest.plan.load.with_(virtual_users=users)
                plan = one.manifest.plan.model_copy(update={"load": load})
                manifest = one.manifest.model_copy(
                    update={
                        "run_id": run_id,
                        "plan": plan,
                        "tags": [f"profile:{name}"],
                        "history": [Event(status=Status.DONE, at=at)],
                        "clock": one.manifest.clock and one.manifest.clock.model_copy(update={"start_wall": at}),
                        "result": figures(1000 * users * level * np.exp(draw.normal(0, 0.01))),
                        "server": ServerFacts(version="1" if name != "nightly" or night < 6 else "2"),
                    }
                )
                folder = type(one.folder)(root / run_id)
                folder.path.mkdir()
                folder.write(manifest)
                folder.settings.write_text(json.dumps(SETTINGS))
    return root


@pytest.fixture
def root(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HDBKIT_RESULTS", str(made))
    return made


def test_profiles_are_compared_at_each_count_of_users(root: Path) -> None:
    found = api.compare("fast", "slow")
    assert list(found.comparisons["virtual_users"]) == [1, 4]
    assert list(found.cells["cell"].unique()) == [found.comparisons["baseline"][0], found.comparisons["cell"][0]]
    assert list(found.comparisons["verdict"]) == ["slower", "slower"]
    assert found.comparisons["ratio"].tolist() == pytest.approx([0.8, 0.8], rel=0.03)
    assert found.cells["operations_per_s"].notna().all()
    assert "slow (mean over 2 counts of virtual users) is 2" in found.ratio.sentence
    assert found.gate(-0.02).verdict == "fell"
    assert api.compare("slow", "fast").gate(-0.02).verdict == "held"


def test_the_history_has_the_change_point_and_the_forced_boundary(root: Path) -> None:
    found = api.history("nightly")
    for users in USERS:
        rows = found.segments[found.segments["virtual_users"] == users]
        assert list(rows["cause"]) == ["first", "environment", "change point"]
        assert list(rows["runs"]) == [6, 6, 8]
        assert rows["ratio"].iloc[2] == pytest.approx(0.9, rel=0.02)
    assert found.answer == (
        "The profile nightly has 2 change points in 40 runs at 2 counts of virtual users, "
        "2 changes of the environment."
    )
    assert "2026-01-13 03:04, 4 virtual users: " in found.changes[0]
    assert any("the environment changed (server.version 1 -> 2)" in one for one in found.changes)


def test_the_history_on_the_command_line_has_a_page(root: Path, command: HdbkitCommand) -> None:
    said = command("history", "nightly", "--report")
    assert said.code == 0
    assert "change point (p = 0.0" in " ".join(said.out.split())
    page = (root / "profiles" / "nightly.html").read_text(encoding="utf-8")
    assert "When did NOPM change?" in page
    assert 'id="chart-history"' in page
    assert command("history", "weekly").code == 2
    assert [row["profile"] for row in command("profiles", "--json").json] == ["fast", "nightly", "slow"]


def test_compare_exits_1_on_a_regression_and_strictly_also_when_undecided(root: Path, command: HdbkitCommand) -> None:
    assert command("compare", "fast", "slow", "--fail-below", "-2%").code == 1
    assert command("compare", "fast", "slow", "--fail-below", "-30%", "--strict").code == 0
    assert command("compare", "fast", "slow", "--fail-below", "-20%").code == 0
    assert command("compare", "fast", "slow", "--fail-below", "-20%", "--strict").code == 1
    reported = command("compare", "fast", "slow", "--fail-below", "-20%", "--json").json
    assert reported["gate"]["verdict"] == "undecided"
    assert [row["virtual_users"] for row in reported["ratios"] if row["of"] == "metric"] == [1, 4]
    metric = reported["metric"]
    assert (metric["name"], metric["unit"], reported["better"]) == ("NOPM", "NOPM", "higher")
    assert (reported["best"]["ratio"], reported["best"]["virtual_users"]) == (pytest.approx(0.8, abs=0.02), None)
    history = command("history", "nightly", "--json").json
    assert (history["more"]["profile"], history["better"]) == ("nightly", "higher")


@pytest.mark.parametrize("limit", ["100%", "nan", "2%", "-100%", "-2", "two"])
def test_a_limit_that_accepts_no_change_for_the_worse_is_rejected(
    root: Path, command: HdbkitCommand, limit: str
) -> None:
    said = command("compare", "fast", "slow", "--fail-below", limit)
    assert (said.code, said.out) == (2, "")
    assert f"at most 0%, such as -2% or -0.02, not '{limit}'" in " ".join(said.err.split())


@pytest.mark.parametrize("below", [1.0, 0.02, -1.0, np.nan])
def test_the_limit_of_a_gate_is_a_change_for_the_worse(root: Path, below: float) -> None:
    with pytest.raises(InputError, match=f"must be above -1 and at most 0, such as .*, not {below}"):
        api.compare("fast", "slow").gate(below)


def test_a_profile_that_is_not_there_is_reported(root: Path) -> None:
    with pytest.raises(InputError, match=r"no profile 'weekly' \(known: fast, nightly, slow\)"):
        api.history("weekly")


def sides(ratio: float, sessions: int = 4, noise: float = 0.01, seed: int = 1) -> pd.DataFrame:
    """Base and new in sessions of their own, each with a run at three counts of users."""
    draw = np.random.default_rng(seed)
    rows = [
        (side, f"{side} {session}", users, 1000 * users * level * np.exp(draw.normal(0, noise)))
        for side, level in (("base", 1.0), ("new", ratio))
        for session in range(sessions)
        for users in (1, 4, 16)
    ]
    return pd.DataFrame(rows, columns=["side", "session", "virtual_users", "metric_value"])


def test_the_intervals_of_all_counts_hold_together() -> None:
    held = 0
    for seed in range(80):
        ratios = compared(sides(0.97, seed=seed), METRIC).by_users
        assert [ratio.virtual_users for ratio in ratios] == [1, 4, 16]
        held += all(covers(ratio, 0.97) for ratio in ratios)
    assert held >= 71


def test_at_the_limit_itself_the_gate_seldom_fails() -> None:
    fell = sum(
        gate(compared(sides(0.98, seed=seed), METRIC).by_users, METRIC, -0.02).verdict == "fell" for seed in range(80)
    )
    assert fell <= 6


@pytest.mark.parametrize(
    ("low", "high", "verdict", "fails", "strictly"),
    [
        (0.90, 0.97, "fell", True, True),
        (0.90, 0.99, "undecided", False, True),
        (0.985, 0.99, "held", False, False),
        (None, None, "undecided", False, True),
    ],
)
def test_the_gate_goes_by_the_whole_interval(
    low: float | None, high: float | None, verdict: str, fails: bool, strictly: bool
) -> None:
    (ratio,) = judge(synthetic_runs([1], blocks=1), METRIC)
    found = gate([ratio.model_copy(update={"ratio": 0.95, "low": low, "high": high})], METRIC, -0.02)
    assert (found.verdict, found.fails(), found.fails(strict=True)) == (verdict, fails, strictly)
