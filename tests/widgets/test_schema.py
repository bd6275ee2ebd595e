"""The schema panel: an estimate, a build that can be cancelled and continued, checks, and a confirmed drop."""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from hdbkit import api
from hdbkit.config import Target, TprocCSpec, TprocHSpec
from hdbkit.errors import BuildFailed, HalfBuilt, InputError
from hdbkit.servers import PrivateServer
from hdbkit.widgets import SchemaPanel, Shared
from hdbkit.widgets.panels.schema import BuildWatch
from hdbkit.workloads.present import present_schema
from tests.widgets.conftest import code_of, text_of, until


@pytest.fixture
def panel(server: PrivateServer) -> Iterator[SchemaPanel]:
    """A panel on a database without a schema; what is built is dropped again."""
    yield SchemaPanel(Shared(target=server.target))
    with suppress(InputError):
        api.connect(server.target).drop()


@pytest.fixture
def null_panel(null_target: Target) -> SchemaPanel:
    return SchemaPanel(Shared(target=null_target))


def ended(panel: SchemaPanel) -> None:
    until(lambda: not panel.build.disabled)


def test_the_estimate_is_that_of_the_api_and_grows_with_the_scale() -> None:
    panel = SchemaPanel()
    panel.form.inputs["warehouses"].value, panel.loaders.value = 100, 4
    expected = api.estimate(TprocCSpec(warehouses=100), 4)
    assert f"{expected.rows:,} rows" in panel.estimate.value
    assert expected.duration_s == pytest.approx(api.estimate(TprocCSpec(warehouses=100), 1).duration_s / 4)


@pytest.mark.parametrize("fields", [{"warehouses": 3}, {"warehouses": 2, "seed": 7}, {"loaders": 1}])
def test_the_call_that_it_shows_builds_what_the_fields_ask_for(
    null_panel: SchemaPanel, null_target: Target, fields: dict[str, int]
) -> None:
    for name, value in fields.items():
        (null_panel.loaders if name == "loaders" else null_panel.form.inputs[name]).value = value
    exec(code_of(null_panel), {})
    assert api.connect(null_target).schema() == null_panel.spec()
    assert f"loaders={null_panel.loaders.value})" in code_of(null_panel)


def test_without_a_target_it_says_what_to_do() -> None:
    panel = SchemaPanel()
    panel.build.click()
    assert "no target is chosen" in text_of(panel)


def test_the_other_panels_know_what_was_built(null_panel: SchemaPanel) -> None:
    null_panel.form.inputs["warehouses"].value = 2
    null_panel.build.click()
    ended(null_panel)
    assert null_panel.shared.schema == TprocCSpec(warehouses=2)
    assert "a schema of TPROC-C, 2 warehouses" in text_of(null_panel)


def test_a_cancelled_build_ends_its_loaders_and_continues_then_it_is_checked_and_dropped_after_a_question(
    panel: SchemaPanel, server: PrivateServer
) -> None:
    panel.build.click()
    until(lambda: "rows" in panel.progress.value)
    panel.cancel.click()
    ended(panel)
    assert "loaded rows are kept" in text_of(panel)
    assert _loaders() == []
    panel.build.click()
    ended(panel)
    assert "none of" in panel.checks.value
    assert panel.shared.schema == TprocCSpec(warehouses=1)

    connection = api.connect(server.target)
    panel.check.click()
    ended(panel)
    assert panel.checks.value.count("<td>pass</td>") == len(connection.check())

    panel.drop.click()
    assert panel.question.box.layout.display == ""
    assert connection.schema() is not None
    panel.question.keep_it.click()
    assert panel.question.box.layout.display == "none"
    panel.drop.click()
    panel.question.do_it.click()
    ended(panel)
    assert connection.schema() is None
    assert panel.shared.schema is None


@pytest.mark.long
def test_answers_are_checked_where_the_workload_has_a_reference(tmp_path: Path) -> None:
    panel = SchemaPanel(Shared(target=Target(kind="duckdb", database=str(tmp_path / "h.db"))))
    assert panel.answers.layout.display == "none"
    panel.shared.workload = TprocHSpec()
    assert panel.answers.layout.display is None
    panel.form.inputs["scale_factor"].value = 0.01
    panel.build.click()
    ended(panel)
    for checked in (False, True):
        panel.answers.value = checked
        panel.check.click()
        ended(panel)
        assert ("<td>answer of q22</td>" in panel.checks.value) is checked, text_of(panel)
    assert "none of" in panel.checks.value


def test_a_missing_schema_is_built_by_the_button_and_not_by_a_command(null_panel: SchemaPanel) -> None:
    target = null_panel.shared.target
    null_panel.guarded(lambda: present_schema(target, null_panel.choice.spec))()
    assert "; press Build" in text_of(null_panel)
    assert "hdbkit build" not in text_of(null_panel).partition("<details>")[0]


@pytest.mark.parametrize(
    ("advice", "shown"),
    [
        (
            "to resume, run: hdbkit build 'duckdb:////a, 1' --scale-factor 1; to remove it, run: hdbkit drop lab",
            "to resume, press Build; to remove it, press Drop",
        ),
        (
            "omit scale, or run: hdbkit drop lab --yes, then: hdbkit build lab",
            "omit scale, or press Drop, then press Build",
        ),
        (
            "run as an administrator in database lab: GRANT USAGE ON SCHEMA a TO b",
            "run as an administrator in database lab: GRANT USAGE ON SCHEMA a TO b",
        ),
    ],
)
def test_advice_names_the_buttons_of_the_panel(null_panel: SchemaPanel, advice: str, shown: str) -> None:
    for error in (HalfBuilt("it is incomplete", advice), BuildFailed("loading", "it stopped", advice)):
        null_panel.fail(error)
        assert f"{html.escape(shown)}</p>" in text_of(null_panel)


def test_a_build_that_cannot_begin_shows_why_and_can_be_tried_again(panel: SchemaPanel) -> None:
    panel.form.inputs["tablespace"].value = "nowhere"
    panel.build.click()
    until(lambda: "tablespace &#x27;nowhere&#x27; cannot be used" in text_of(panel))
    assert not panel.build.disabled
    assert panel.cancel.disabled


def test_the_speed_of_a_build_is_that_of_its_own_rows() -> None:
    now = [100.0]
    watch = BuildWatch(lambda: now[0])
    watch.stage("load")
    watch.loaded(500, 2000, 0)
    now[0] += 10
    watch.loaded(1000, 2000, 5_000_000)
    assert watch.share == 0.5
    assert watch.sentence() == "1,000 of 2,000 rows, 0 MB/s, about 20 s left"


def _loaders() -> list[str]:
    """The processes of this test that load."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE and "build.loader" in " ".join(process.cmdline()):
                found += [str(child) for child in process.children()]
    return found
