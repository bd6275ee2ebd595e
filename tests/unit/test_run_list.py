"""What a data scientist asks of runs: their list, latencies and events as frames, and one sentence for an error."""

from __future__ import annotations

import itertools
import json
import re
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hdbkit
from hdbkit.config import Load
from hdbkit.errors import InputError
from hdbkit.paths import results_folder
from hdbkit.report.run_list import age, outline_svg
from hdbkit.report.tables import UNKNOWN
from tests.architecture.source_tree import ROOT
from tests.unit.synthetic import with_result, write_run


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two labels of two runs each, of two and of four users."""
    folder = tmp_path_factory.mktemp("measured")
    for number, (label, users) in enumerate(itertools.product(("<b>", "after"), (2, 4))):
        path = folder / f"20260101-00000{number}-nulldb-w1-u{users}-aaaaaa"
        with_result(write_run(path, users=users, duration_s=3, seed=number, label=label))
    return folder


@pytest.fixture
def lab(measured: Path) -> hdbkit.Workspace:
    return hdbkit.Workspace(results=measured)


def test_the_list_names_runs_by_what_differs_and_draws_their_course(lab: hdbkit.Workspace) -> None:
    runs = lab.runs()
    named = [one.rpartition(", warehouses")[0] for one in runs.names]
    assert named == ["after, 4 users", "after, 2 users", "<b>, 4 users", "<b>, 2 users"]
    shown = runs.query("virtual_users == 4")._repr_html_()
    assert '<th scope="col" class="n">NOPM</th>' in shown
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert shown.count("<polyline") == 2
    assert shown.count("--share: 100.0%") == shown.count("<small>highest</small>") == 1
    assert "change</th>" not in shown
    assert "polyline" not in runs[["run_id", "label"]]._repr_html_()
    assert "highest</small>" not in runs.head(1)._repr_html_()


def test_an_empty_list_is_a_sentence(tmp_path: Path) -> None:
    runs = hdbkit.Workspace(results=tmp_path).runs()
    assert repr(runs).startswith("There are no runs")
    filtered = hdbkit.Workspace(results=tmp_path).runs("virtual_users = 99")
    assert repr(filtered) == "No run matches the filter: virtual_users = 99"
    assert runs._repr_html_().startswith("<p>There are no runs")


def test_ages_and_courses_are_short() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    begun = ("2026-01-01T23:55:00+00:00", "2026-01-01T00:00:00+00:00", "2025-12-30T00:00:00+00:00", None)
    assert [age(one, now) for one in begun] == ["5 min ago", "1 day ago", "3 days ago", ""]
    assert outline_svg([1.0]) == outline_svg([0.0, 0.0]) == ""


def test_which_transaction_suffers_at_twice_the_load(lab: hdbkit.Workspace) -> None:
    p95 = lab.latencies("label = 'after'").query("quantile == 'p95'").pivot_table("ms", "operation", "virtual_users")
    (two, four) = (lab.result(one) for one in lab.runs("label = 'after'")["run_id"][::-1])
    assert p95.loc["payment"].tolist() == [one.latencies.loc["payment", "p95_us"] / 1000 for one in (two, four)]
    assert set(lab.latencies([two.run_id])["name"]) == {"after"}


def test_the_questions_of_the_documents_are_answered_in_three_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path))
    labels = ("05 scaling", "05 scaling", "08 postgresql, stored routines", "08 mariadb, stored routines")
    for number, (label, users) in enumerate(zip(labels, (4, 8, 2, 2), strict=True)):
        path = tmp_path / f"20260101-00000{number}-nulldb-w1-u{users}-aaaaaa"
        with_result(write_run(path, users=users, duration_s=3, seed=number, label=label))
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8").partition("## Questions")[2].partition("\n## ")[0]
    asked = re.findall(r"(?:^    .+\n)+", page, re.MULTILINE)
    assert len(asked) == 3
    for code in asked:
        lines = textwrap.dedent(code).strip().splitlines()
        assert len(lines) <= 3
        names: dict[str, Any] = {"hdbkit": hdbkit}
        exec("\n".join(lines[:-1]), names)
        assert eval(lines[-1], names) is not None


def test_runs_have_the_mean_time_and_what_the_host_did(lab: hdbkit.Workspace) -> None:
    run = lab.runs().iloc[0]
    result = lab.result(run["run_id"]).summary
    assert result.host_cpu_pct is not None
    assert run["cpu_pct"] == pytest.approx(100 - result.host_cpu_pct["idle"] - result.host_cpu_pct["iowait"])
    lines = result.operations.values()
    total_us = sum(one.count * one.mean_us for one in lines if one.mean_us is not None)
    assert run["mean_us"] == pytest.approx(total_us / sum(one.count for one in lines))
    assert run["memory_used_bytes"] > 0
    assert '<th scope="col" class="n">CPU (%)</th>' in lab.runs()._repr_html_()


def test_a_list_of_runs_without_a_result_has_no_values(lab: hdbkit.Workspace) -> None:
    runs = lab.runs()
    unknown = runs.assign(metric_value=None, p95_us=None, mean_us=None)
    assert unknown._repr_html_().count(f'--share: 0.0%">{UNKNOWN}</td>') == len(runs)


def test_events_and_counters_are_frames_and_a_chart_marks_them(lab: hdbkit.Workspace) -> None:
    result = lab.result("20260101-000000")
    assert list(result.events.columns) == ["time_s", "kind", "text", "source"]
    assert "commits" in result.counters
    assert result.counters.index.is_monotonic_increasing
    assert {"new_order", "payment"} <= set(result.seconds()["operation"])
    events = pd.DataFrame({"time_s": [1.0, 2.0], "kind": ["checkpoint", "checkpoint"]})
    charts = result.charts()
    marked = charts["throughput"].mark(events)
    assert len(marked.figure.layout.shapes) == len(charts["throughput"].figure.layout.shapes) + 2
    assert "checkpoint (2, dotted line)" in marked.alternative
    with pytest.raises(InputError, match="is not over the time"):
        charts["latency"].mark(events)


def test_each_transaction_has_a_verdict_and_sides_have_the_names_that_are_given(lab: hdbkit.Workspace) -> None:
    found = lab.compare(one="<b>", other="after")
    assert found.names == ("one", "other")
    assert set(found.by_operation["operation"]) == {"new_order", "payment", "order_status", "delivery", "stock_level"}
    assert found.by_operation["verdict"].ne("").all()
    with pytest.raises(InputError, match="name both sides"):
        lab.compare(one="after")


def test_a_label_with_a_comma_is_one_side(tmp_path: Path) -> None:
    for number, label in enumerate(("08 mariadb, stored", "08 mariadb, client")):
        with_result(write_run(tmp_path / f"2026010{number}-000000-nulldb-w1-u1-aaaaaa", duration_s=2, label=label))
    found = hdbkit.Workspace(results=tmp_path).compare("08 mariadb, stored", "08 mariadb, client")
    assert [len(found.base), len(found.new)] == [1, 1]
    assert found.names == ("08 mariadb, stored", "08 mariadb, client")


def test_an_error_is_one_sentence_in_a_notebook() -> None:
    with pytest.raises(InputError) as raised:
        hdbkit.Workspace().target("nowhere")
    shown = raised.value._render_traceback_()
    assert shown[0].startswith("InputError: there is no target 'nowhere'")
    assert len(shown) == 3


def test_results_go_to_the_folder_at_hand_outside_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HDBKIT_RESULTS", raising=False)
    monkeypatch.chdir(tmp_path)
    assert results_folder() == tmp_path / "results"


def test_a_site_leaves_no_report_in_the_results(measured: Path, lab: hdbkit.Workspace, tmp_path: Path) -> None:
    site = lab.site(tmp_path / "public", where="label = 'after' and virtual_users = 2")
    assert list(measured.rglob("report.*")) == []
    assert json.loads((tmp_path / "public" / "site.json").read_text()) == [f"runs/{site.pages['name'][0]}.html"]


def test_a_load_shows_what_is_not_as_by_default() -> None:
    assert repr(Load()) == "Load()"
    assert repr(Load(virtual_users=8)) == "Load(virtual_users=8)"
