"""Runs whose operations are measured one by one: every execution is listed."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hdbkit.analysis.run.records import window_of
from hdbkit.api import DEFAULT, Result
from hdbkit.charts.value_charts import operations_by_value
from hdbkit.report.run_report import run_report
from hdbkit.results.folder import RunFolder
from tests.conftest import HdbkitCommand
from tests.unit.synthetic import write_queries

TIMES_S = {"q01": 0.5, "q02": 0.01, "q03": 2.0}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return write_queries(tmp_path / "a-run", TIMES_S, users=2, failed=["q03"]).folder


def test_every_execution_has_its_time_outcome_and_details(folder: RunFolder) -> None:
    found = Result(folder, DEFAULT).executions()
    assert found["operation"].tolist() == ["q01", "q01", "q02", "q02", "q03", "q03"]
    assert found["stream"].tolist() == [1, 2] * 3
    assert found["elapsed_s"].tolist() == pytest.approx([0.5, 1.0, 0.01, 0.02, 2.0, 4.0])
    assert found["start_s"].tolist() == pytest.approx([0, 0, 0.5, 1.0, 0.51, 1.02])
    assert found["rows"].tolist() == [0, 0, 10, 10, 20, 20]
    assert found["outcome"].tolist() == ["committed"] * 4 + ["failed"] * 2
    assert found["error"].tolist() == [""] * 4 + ["statement_timeout"] * 2


def test_the_screen_and_the_page_list_executions_instead_of_quantiles(
    folder: RunFolder, command: HdbkitCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(folder.path.parent))
    shown = command("runs", "show", "last").out
    assert "statement_timeout" in shown and "elapsed s" in shown and "p99" not in shown
    listed = json.loads(command("runs", "show", "last", "--json").out)["executions"]
    assert [one["elapsed_s"] for one in listed if one["operation"] == "q02"] == pytest.approx([0.01, 0.02])
    page = run_report(folder).read_text(encoding="utf-8")
    assert "Every query" in page and "longest (s)" in page


def test_the_name_of_a_column_is_no_sql(folder: RunFolder) -> None:
    """Names of details come from the manifest and the files, which others may have sent."""
    name = "rows\", (SELECT content FROM read_text('/etc/passwd')) AS \"x"
    for path in folder.operations.glob("*.parquet"):
        content = pq.read_table(path)
        pq.write_table(content.rename_columns([name if one == "rows" else one for one in content.column_names]), path)
    manifest = folder.read()
    folder.write(manifest.model_copy(update={"details": {name: "uint32"}}))
    found = Result(folder, DEFAULT).executions()
    assert [one for one in found if one not in ("operation", "virtual_user", "start_s", "elapsed_s")] == [
        "outcome", "error", name,
    ]  # fmt: skip
    by_value = operations_by_value(folder, window_of(manifest), name)
    assert by_value["value"].tolist() == [0, 10]
