"""The demo on a target of the user's own: it uses the schema that is there, else it builds one, and sweeps."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

import hdbkit
from hdbkit import api
from hdbkit.config import Load, SweepSpec, Target, WorkloadSpec
from hdbkit.contracts import Check
from hdbkit.errors import InputError
from hdbkit.loading import BuildResult
from tests.widgets.conftest import build_null

SWEEP = SweepSpec(
    name="speed", settings={"speed": ("1", "2")}, virtual_users=(2,), blocks=2, load=Load(rampup_s=0, duration_s=0.3)
)


@pytest.fixture
def target() -> Target:
    """A null database without a schema, whose settings may be changed."""
    options = {"latency_us": "1000"}
    return Target(kind="nulldb", database=f"q{uuid.uuid4().hex[:12]}", options=options, may_change_settings=True)


def test_a_schema_that_is_missing_is_built_and_one_that_is_there_is_used(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def build(connection: api.Connection, workload: WorkloadSpec, **_: object) -> BuildResult:
        said.append("built")
        build_null(connection.target)
        return BuildResult(4, 100, 0, 0.0, (Check("rows", True, ""),))

    monkeypatch.setattr(api.Connection, "build", build)
    done = hdbkit.demo(target, spec=SWEEP, say=said.append)
    assert (said[0].endswith(target.url), said[1:]) == (True, ["built"])
    assert (done.failed, len(done.cell_ratios)) == (0, 2)
    assert done.report().read_text(encoding="utf-8").startswith("<!")
    said.clear()
    planned = hdbkit.plan_demo(target, spec=SWEEP, say=said.append)
    assert planned.command == f"hdbkit demo '{target.url}'", "a shell would take its characters"
    assert said[1:] == ["the schema is there: 1 warehouse"]


def test_settings_of_a_server_that_does_not_allow_it_are_not_tried(target: Target) -> None:
    with pytest.raises(InputError, match="may_change_settings"):
        hdbkit.demo(build_null(target).with_(may_change_settings=False), spec=SWEEP)


def test_a_private_server_is_used_for_seconds_and_a_target_of_your_own_for_minutes(target: Target) -> None:
    private = target.with_(server_folder=Path("folder"))
    assert (api.default_load(private).rampup_s, api.default_load(private).duration_s) == (2, 20)
    assert api.default_load(target) == Load()
