"""A run folder of format version 1, written by that release, is read like a present one."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pandas as pd
import pytest

from hdbkit import api
from hdbkit.analysis.run.checks import check_run
from hdbkit.analysis.run.summary import summarize
from hdbkit.charts.run_charts import run_charts
from hdbkit.errors import InputError
from hdbkit.execution.handle import RunHandle
from hdbkit.report import run_report
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest, Status
from hdbkit.workloads.tproc_c import NOPM
from tests.unit.every_chart import finished
from tests.unit.synthetic import write_table

KEPT = Path(__file__).parents[1] / "data" / "version_1"
OF_THE_RECORDS = (
    *("metric_value", "engine_tpm", "window_s", "measured_s", "completed", "failed", "retries", "operations_per_s"),
    *("operations", "client_cpu_us_per_operation", "per_operation", "littles_law", "counters", "clients_lost"),
)


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    (original,) = KEPT.iterdir()
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path))
    return RunFolder(shutil.copytree(original, tmp_path / original.name))


@pytest.fixture
def manifest(old: RunFolder) -> Manifest:
    return old.read()


def test_the_folder_is_of_version_1(old: RunFolder) -> None:
    assert (old.path / "transactions").is_dir()
    assert b'"format_version": 1' in (old.path / "manifest.json").read_bytes()


def test_its_metric_mix_and_nouns_are_those_of_its_workload(manifest: Manifest) -> None:
    assert manifest.metric == NOPM
    assert (manifest.headline, manifest.noun, manifest.scale) == ("new_order", "transaction", "1 warehouse")
    assert manifest.mix["new_order"] == 45
    assert manifest.rollback_shares == {"new_order": 0.01}
    assert not manifest.paced


def test_its_result_recomputed_is_the_one_it_kept(old: RunFolder, manifest: Manifest) -> None:
    again = summarize(old, manifest)
    for name in OF_THE_RECORDS:
        kept = getattr(manifest.result, name)
        assert getattr(again, name) == (pytest.approx(kept) if isinstance(kept, float) else kept), name
    assert again.metric_value == pytest.approx(5021.88, abs=0.01)


def test_its_checks_recomputed_are_those_it_kept(old: RunFolder, manifest: Manifest) -> None:
    renamed = {"1 % of new orders rolled back": "1 % of new_order rolled back"}
    kept = {renamed.get(check.name, check.name): check.passed for check in manifest.checks}
    again = {check.name: check.passed for check in check_run(old, manifest)}
    again.pop("no jump in the cost of a transaction")  # younger than that run
    assert again == {name: kept[name] for name in again}
    assert len(again) == 9, "steal time has become a warning"


def test_its_charts_and_its_report_are_drawn(old: RunFolder, manifest: Manifest) -> None:
    keys = [chart.key for chart in run_charts(old, manifest)]
    assert keys[:4] == ["throughput", "latency_over_time", "latency_heat", "latency"]
    page = run_report(old).read_text(encoding="utf-8")
    assert "5,022 NOPM" in page
    assert 'id="chart-throughput"' in page


def test_it_is_listed_and_compared_with_a_run_of_today(old: RunFolder, tmp_path: Path) -> None:
    finished(tmp_path / "of-today", users=1)
    listed = api.runs().set_index("run_id")["metric_value"]
    assert listed[old.run_id] == pytest.approx(5021.88, abs=0.01)
    found = api.compare(old.run_id, "of-today")
    assert found.ratio.ratio == pytest.approx(listed["of-today"] / listed[old.run_id])
    assert found.report().is_file()
    assert "load.users_per_process" not in found.differences.index
    assert list(api.runs("users_per_process = 1")["run_id"]) == ["of-today", old.run_id]


def test_a_tag_leaves_its_content_as_it_was(old: RunFolder, manifest: Manifest) -> None:
    api.result(old.run_id).tag("kept")
    again = old.read()
    assert again.tags == ["kept"]
    assert again == manifest.model_copy(update={"tags": ["kept"]})
    assert (again.operations, again.mix) == (manifest.operations, manifest.mix)
    assert len(api.result(old.run_id).seconds())


def test_its_tables_have_the_present_columns(old: RunFolder) -> None:
    row = {name: ["x"] for name in ("error_class", "code", "text", "transaction")}
    row |= {name: [1] for name in ("count", "retried", "first_us", "last_us")}
    kinds = {name: "string" if values == ["x"] else "int64" for name, values in row.items()}
    write_table(old.table("errors"), pd.DataFrame(row), kinds)
    assert list(api.result(old.run_id).table("errors")["operation"]) == ["x"]
    with pytest.raises(InputError, match="has no table 'nothing'"):
        api.result(old.run_id).table("nothing")


def test_the_spools_of_an_abandoned_run_are_kept(old: RunFolder, manifest: Manifest) -> None:
    old.write(manifest.model_copy(update={"status": Status.ABANDONED}))
    old.spools.mkdir()
    spool = old.spools / "00000.spool"
    spool.write_bytes(struct.pack("<8sIII", b"HDBSPOOL", 1, 48, 0).ljust(8192, b"\0"))
    with pytest.raises(InputError, match=r"cannot be recovered \(.* has spool version 1, .*\); its spools are kept"):
        RunHandle(old).recover()
    assert spool.is_file()
