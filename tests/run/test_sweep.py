"""A sweep through the API: the null engine, whose settings have known effects."""

from __future__ import annotations

from pathlib import Path

import pytest

import hdbkit
from hdbkit.api import connect, experiment_result, plan_sweep
from hdbkit.api.connection import Connection
from hdbkit.config import Load, SweepSpec
from hdbkit.errors import ConfigErrors, InputError
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget

SPEC = SweepSpec(
    name="speed",
    settings={"speed": ("1", "4")},
    virtual_users=(2,),
    blocks=3,
    load=Load(rampup_s=0.1, duration_s=0.6),
)


@pytest.mark.alone
def test_a_sweep_finds_the_known_effect_and_puts_the_settings_back(null_target: NullTarget) -> None:
    target = null_target(latency_us=8000).with_(may_change_settings=True)
    done = hdbkit.sweep(target, SPEC)
    assert list(done.runs["status"]) == ["done"] * 6
    speed = done.effects[done.effects["setting"] == "speed"].iloc[0]
    assert 1.5 < speed["ratio"] < 6  # four times the speed, less what wake-ups cost
    assert speed["verdict"] == "faster"
    assert "speed=4" in done.answer
    assert set(connect(target).settings()["value"]) == {"1", "on", "1024"}
    assert done.report().stat().st_size < 6_000_000
    assert experiment_result(done.experiment_id).answer == done.answer


def test_all_errors_of_the_settings_are_reported_and_nothing_is_started(
    null_target: NullTarget, results: Path
) -> None:
    target = null_target().with_(may_change_settings=True)
    spec = SPEC.model_copy(
        update={"settings": {"sped": ("1", "2"), "commit": ("on", "maybe"), "buffers": ("64", "128")}}
    )
    with pytest.raises(ConfigErrors) as caught:
        hdbkit.sweep(target, spec)
    text = str(caught.value)
    assert "'sped'. Did you mean 'speed'?" in text
    assert "commit" in text
    assert "buffers needs a restart" in text
    assert not list(results.glob("experiments/2*"))


def test_a_server_that_is_not_ours_is_not_changed_without_leave(null_target: NullTarget) -> None:
    with pytest.raises(InputError, match="may_change_settings: true"):
        hdbkit.sweep(null_target(), SPEC)


def test_a_plan_reports_every_run_in_its_order(null_target: NullTarget) -> None:
    spec = SPEC.with_(settings={"speed": ("1", "4"), "commit": ("on", "off")})
    planned = plan_sweep(null_target(), spec, blocks=3)
    assert [one.number for one in planned.runs] == list(range(1, 16))
    assert all({one.configuration for one in planned.runs if one.block == b} == {0, 1, 2, 3} for b in (1, 2, 3))


def test_values_that_the_host_cannot_hold_are_warned_of_before_a_sweep_starts(
    null_target: NullTarget, command: HdbkitCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warned(_: Connection, settings: dict[str, tuple[str, ...]]) -> list[str]:
        return [f"{name} is larger than the memory of the server's host" for name in settings]

    monkeypatch.setattr(Connection, "memory_warnings", warned)
    (tmp_path / "sweep.yaml").write_text("settings: {speed: ['1', '2']}\n")
    said = command("sweep", null_target().url, tmp_path / "sweep.yaml")
    assert said.code != 0, "the server is not ours"
    assert "warning: speed is larger than the memory of the server's host" in " ".join(said.err.split())
