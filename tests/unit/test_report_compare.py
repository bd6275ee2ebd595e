"""The report of a comparison, and the cards of run, sweep and comparison in a notebook."""

from __future__ import annotations

import html
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hdbkit import api
from hdbkit.analysis.comparison.sides import comparison_warnings, settings_apart
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.analysis.sweep.warnings import rate_warnings
from hdbkit.api.releases import Release, Releases
from hdbkit.api.sweeping import SweepResult
from hdbkit.caution import Caution, Kind
from hdbkit.charts.compare_charts import compare_charts
from hdbkit.config import SweepSpec, Target
from hdbkit.errors import InputError
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.report import experiment_report
from hdbkit.report.ratio_tables import figures_table, ratio_tables
from hdbkit.report.sides_evidence import differences_table
from hdbkit.report.tables import UNKNOWN, Table
from hdbkit.results.experiment_folder import experiment_folder
from hdbkit.results.finding import Finding, Of, Ratio, Verdict
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import Step
from hdbkit.results.manifest import CheckLine
from tests.conftest import HdbkitCommand
from tests.unit.every_chart import finished, open_loop
from tests.unit.sweeps import RATE, synthetic_runs
from tests.unit.synthetic import changed
from tests.unit.test_report import MAX_BYTES, read


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    for seed, (name, users) in enumerate({"old-1": 4, "old-2": 4, "new-1": 4, "new-2": 4, "more-users": 6}.items()):
        finished(root / name, seed=seed + 1, users=users)
    return root


@pytest.fixture
def root(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HDBKIT_RESULTS", str(made))
    return made


def test_a_comparison_has_a_page_with_verdict_figures_charts_and_command(root: Path) -> None:
    found = api.compare("old-1,old-2", "new-1,new-2")
    path = found.report()
    assert path.parent == root / "comparisons"
    reader, page = read(path), path.read_text(encoding="utf-8")
    text = " ".join(reader.text)
    assert f"{found.ratio.sentence.removesuffix(f'; {found.compared.advice}')[1:]}." in text
    change = found.table.loc["metric_value", "change"]
    assert change == pytest.approx(found.ratio.ratio - 1) and f"({100 * change:+.1f} %)" in text, "one ratio"
    assert found.table.loc["metric_value", "new"] / found.table.loc["metric_value", "base"] - 1 == pytest.approx(
        change
    )
    assert f"{found.basis[1:]}." in text
    p95 = next(ratio for ratio in found.quantile_ratios if (ratio.figure, ratio.quantile) == ("new_order", "p95"))
    assert p95.base == pytest.approx(found.table.loc["new_order p95_us", "base"] / 1000), "ms, as in a sweep"
    assert f"{found.table.loc['metric_value', 'base']:,.0f}" in text
    assert found.table.loc["new_order p95_us", ["low", "high"]].isna().all(), "no session is repeated"
    for words in ("new_order p95 (ms)", "mean of 2 runs", "not comparable to published results"):
        assert words in text
    drawn = ["users", "throughput", "p95_over_time", "busy_over_time", "latency"]
    assert re.findall(r'id="chart-(\w+)"', page) == drawn == list(found.charts())
    assert reader.addresses == []
    assert len(page.encode()) < MAX_BYTES


def test_sides_may_have_the_names_of_columns(root: Path) -> None:
    """``second`` is one that users give to the second of two runs."""
    found = api.compare(first="old-1", second="new-1")
    chart = found.charts()["p95_over_time"]
    assert chart.table["side"].unique().tolist() == ["first", "second"]
    assert repr(found).startswith("<Comparison of stored runs: second against first ") and len(repr(found)) < 500


def test_the_table_of_both_sides_has_the_intervals_of_latencies() -> None:
    (best,) = judge(synthetic_runs([1], blocks=1), RATE)
    sides: dict[str, Any] = {"label": "new", "against": "base", "virtual_users": None, "verdict": Verdict.UNDECIDED}
    known = Ratio(
        of=Of.QUANTILE, figure="read", quantile="p95", base=2, value=1.5, ratio=1 / 0.75, low=1 / 0.95,
        high=1 / 0.6, **sides,
    )  # fmt: skip
    per_s = Ratio(of=Of.COUNT, figure="operations_per_s", base=10, value=None, **sides)

    def table_of(latency: Ratio) -> Table:
        finding = Finding(
            kind="comparison", question="", metric=RATE, cells=(), ratios=(per_s, latency), answer="",
            best=best.model_copy(update={**sides, "base": 10, "value": 11, "ratio": 1.1, "low": None, "high": None}),
        )  # fmt: skip
        (table,) = figures_table(finding)
        return table

    table = table_of(known)
    assert table.head[1:3] == ["base", "new"]
    assert [row[0] for row in table.rows] == ["TPS", "operations/s", "read p95 (ms)"]
    assert table.rows[0][1:] == ["10.0", "11.0", "+10.0 %", ""]
    assert table.rows[1][2:] == [UNKNOWN, UNKNOWN, ""]
    assert table.rows[2][1:] == ["2.00", "1.50", "-25.0 %", "-40.0 % to -5.0 %"]
    assert "hold together" in table.note
    assert "Without intervals" in table_of(known.model_copy(update={"low": None, "high": None})).note


def test_intervals_have_the_confidence_that_their_sentences_state(root: Path) -> None:
    found = api.compare("old-1,old-2", "new-1,new-2")
    ratio = found.ratio.model_copy(update={"low": 0.9, "high": 1.2})
    of_operation = ratio.model_copy(update={"of": Of.OPERATION, "figure": "payment"})
    finding = found.finding.model_copy(update={"best": ratio, "ratios": (ratio, of_operation), "confidence": 0.96})
    bar = experiment_report.card(finding, experiment_report.Evidence("", [])).bar
    assert bar is not None
    assert bar.words == "96 % interval x0.9 to x1.2"
    tables = ratio_tables(finding)
    assert "96 % interval" in tables[0].head
    assert "96 % interval" in tables[1].note
    quantile = ratio.model_copy(update={"of": Of.QUANTILE, "quantile": "p95"})
    charts = compare_charts(found.sides, finding.model_copy(update={"ratios": (quantile,)}))
    assert "Bars are 96 % intervals" in next(one for one in charts if one.key == "changes").alternative


def test_each_commit_has_its_own_table_of_figures_and_warnings_keep_their_kinds(root: Path) -> None:
    base, *rest = (Release(name, name * 20, name) for name in ("v1", "v2", "v3"))
    pairs = [api.compare("old-1,old-2", side) for side in ("new-1,new-2", "old-2,new-1")]
    named = [
        replace(pair, names=("v1", name), compared=replace(pair.compared, ratio=ratio_named(pair, name)))
        for pair, name in zip(pairs, ("v2", "v3"), strict=True)
    ]
    decided = named[1].ratio.model_copy(update={"verdict": Verdict.EQUIVALENT})
    named[1] = replace(named[1], compared=replace(named[1].compared, ratio=decided))
    releases = Releases(base, tuple(rest), tuple(named))
    finding, evidence = releases.finding, releases.evidence()
    assert [caution.kind for caution in map(Caution.of, finding.warnings)] == [Kind.FAILED_OPERATIONS] * len(
        finding.warnings
    )
    assert finding.warnings
    assert finding.advice == pairs[0].compared.advice, "the last commit is decided, the first is not"
    assert evidence.kicker == f"comparison of {rest[0]} and {rest[1]} with {base}"
    assert {one.run_id for one in evidence.manifests} == {"old-1", "old-2", "new-1", "new-2"}
    assert len(evidence.figures) == 3, "the base once"
    assert len(evidence.journal) == 2
    tables = figures_table(finding)
    assert [table.title.partition(",")[0] for table in tables] == ["v2 and v1", "v3 and v1"]
    for table, pair in zip(tables, pairs, strict=True):
        cost = "CPU of the server (us)"
        assert [row[0] for row in table.rows] == ["NOPM", "operations/s", cost, *figures_of(pair)]
    against = ratio_tables(finding)[0]
    assert [row[0] for row in against.rows] == ["v2", "v3"]
    assert "operations/s" not in against.head, "it is among the figures"
    first, *others = [table.title for table in ratio_tables(pairs[0].finding)]
    assert (first, others[-1]) == ("Each operation", "Both sides, geometric means over their runs"), "nothing twice"


def ratio_named(pair: api.Comparison, name: str) -> Ratio:
    return pair.ratio.model_copy(update={"label": name, "against": "v1"})


def figures_of(pair: api.Comparison) -> list[str]:
    return [f"{ratio.figure} {ratio.quantile} (ms)" for ratio in pair.quantile_ratios]


def test_the_command_of_the_page_makes_the_same_page(root: Path, command: HdbkitCommand, monkeypatch) -> None:
    path = api.compare(["old-1", "old-2"], "new-1").report()
    typed = re.search(r"hdbkit compare \S+ \S+ --report", path.read_text(encoding="utf-8"))
    assert typed is not None
    monkeypatch.setenv("HDBKIT_RESULTS", str(root))
    before = path.read_bytes()
    path.unlink()
    said = command(*shlex.split(typed[0])[1:])
    assert said.code == 0
    assert str(path) in said.out.replace("\n", "")
    assert path.read_bytes() == before


def test_a_run_without_a_value_is_not_compared(root: Path, tmp_path: Path) -> None:
    folder, manifest = finished(tmp_path / "without")
    folder.write(manifest.model_copy(update={"result": None}))
    with pytest.raises(InputError, match=r"run without has no value of NOPM \(done\), so it cannot be compared"):
        api.compare("old-1", str(folder.path))


def test_a_run_with_the_value_0_is_compared_as_half_an_operation_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path))
    for name in ("one", "zero"):
        folder, manifest = finished(tmp_path / name, seed=1, users=4)
        result = manifest.measured.model_copy(update={"metric_value": 0.0} if name == "zero" else {})
        plan = manifest.plan.model_copy(update={"label": "night"})
        folder.write(manifest.model_copy(update={"result": result, "plan": plan}))
    assert {result.run_id for result in api.compare("one", "night").new} == {"one", "zero"}
    compared = api.compare("one", "zero")
    assert 0 < compared.ratio.ratio < 1e-3 and "NOPM is 0 in 1 of 1 run" in " ".join(compared.warnings)
    assert compared.report().is_file()


def test_other_work_on_both_sides_is_warned_of(root: Path) -> None:
    page = api.compare("old-1", "more-users").report().read_text(encoding="utf-8")
    assert "The sides did not do the same work: load.virtual_users, workload.warehouses differ<" in " ".join(
        page.split()
    )
    for sides in (("old-1", "new-1"), ("old-1,more-users", "more-users,new-1")):
        same = " ".join(api.compare(*sides).warnings)
        assert "did not do the same work" not in same, "whichever count of virtual users came first"


def test_open_loops_are_compared_by_both_times_and_their_throughput_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path))
    folder, manifest = open_loop(tmp_path / "saturated")
    kept = tmp_path / "kept"
    shutil.copytree(folder.path, kept)
    manifest = changed(manifest, metric_value=1000.0)
    folder.write(manifest)
    unsaturated = manifest.measured.schedule.model_copy(update={"saturated": False})
    RunFolder(kept).write(changed(manifest, schedule=unsaturated).model_copy(update={"run_id": "kept"}))
    found = api.compare("saturated", "kept")
    line = manifest.measured.operations["new_order"]
    assert found.table.loc["new_order service p95_us", "base"] == pytest.approx(line.p95_us) != 0
    assert found.table.loc["new_order response p95_us", "base"] == pytest.approx(line.response.p95_us)
    assert "new_order p95_us" not in found.table.index
    text = " ".join(read(found.report()).text)
    assert "new_order response p95 (ms)" in text
    assert "new: the load's rate decides the throughput; compare latencies instead" in found.warnings
    assert not any("saturated (base)" in one for one in found.warnings if "rate" in one), (
        "the server decides it there"
    )
    (warning,) = rate_warnings([one.manifest for one in (*found.base, *found.new)])
    assert warning.startswith("in 1 of 2 runs: the load's rate decides the throughput")


def test_one_run_a_side_has_no_interval_and_says_why(root: Path) -> None:
    text = " ".join(" ".join(read(api.compare("old-1", "new-1").report()).text).split())
    assert "undecided: within their session the sides do not alternate at least twice" in text
    assert "Measure both sides in turn in one session: hdbkit compare old-1 new-1 --run --blocks 6" in text
    assert "no interval" in text


def test_reports_of_comparisons_are_no_runs(root: Path) -> None:
    api.compare("old-1", "new-1").report()
    found = api.runs()
    assert set(found["run_id"]) == {path.name for path in root.iterdir() if (path / "manifest.json").is_file()}
    assert found.attrs["damaged"] == []


def test_any_number_of_groups_is_drawn_together(root: Path) -> None:
    charts = api.overlay({"old": "old-1,old-2", "new": ["new-1"], "more": "more-users"})
    assert list(charts) == ["users", "throughput", "latency"]
    assert charts["users"].table["group"].tolist() == ["old", "new", "more"]
    with pytest.raises(InputError, match="none"):
        api.overlay({"old": "none"})


def test_a_result_gives_its_charts_by_name(root: Path) -> None:
    over_time = ["throughput", "latency_over_time", "latency_heat", "host_cpu", "host_threads", "host_switches"]
    of_server = [f"server_{name}" for name in ("cpu", "cores", "threads", "switches", "disks", "network")]
    charts, users = api.result("old-1").charts(), api.result("old-1").users()
    others = ["latency", "warehouses", "virtual_users"]
    assert list(charts) == [*over_time, *of_server, "errors", *others]
    by_user = users.groupby("virtual_user")["n"].sum()
    assert by_user.to_dict() == charts["virtual_users"].table.set_index("virtual_user")["n"].to_dict()
    assert users["p50_us"].le(users["p95_us"]).all()


@pytest.fixture
def sweep(root: Path) -> SweepResult:
    """Two settings in two blocks; its runs are copies of one."""
    spec = SweepSpec(settings={"flush": ["on", "off"], "memory": ["1GB", "<b>2GB</b>"]}, blocks=2)
    folder = experiment_folder(root, "a-sweep")
    planned = plan_sweep(Target(kind="nulldb"), spec, "a-sweep")
    folder.write_plan(planned)
    original = RunFolder(root / "old-1")
    for one in planned.runs:
        run = RunFolder(root / f"sweep-run-{one.number}")
        run.path.mkdir(exist_ok=True)
        run.table("seconds").write_bytes(original.table("seconds").read_bytes())
        metric_value = 1000.0 * (2 if one.configuration % 2 else 1) + one.number
        manifest = original.read()
        run.write(
            manifest.model_copy(
                update={"run_id": run.run_id, "result": changed(manifest, metric_value=metric_value).result}
            )
        )
        folder.append(Step.RUN_FINISHED, one.number, run.run_id)
    return SweepResult(folder)


def test_a_sweep_gives_its_charts_by_name(sweep: SweepResult) -> None:
    charts = sweep.charts()
    assert list(charts) == [
        "effects", "configurations", "grid", "interactions", "pareto", "throughput", "latency"
    ]  # fmt: skip
    page = sweep.report().read_text(encoding="utf-8")
    assert re.findall(r'id="chart-(\w+)"', page) == list(charts)


def test_the_json_of_runs_and_sweeps_names_the_metric(sweep: SweepResult, command: HdbkitCommand) -> None:
    sweep.folder.append(Step.FINISHED)
    for name in ("old-1", sweep.experiment_id):
        found = command("attach", name, "--json").json
        assert (found["metric"]["name"], found["metric"]["unit"]) == ("NOPM", "NOPM")
        assert "higher" in (found["metric"].get("better"), found.get("better"))
        assert isinstance(found["warnings"], list)


def test_cards_hold_sentence_and_table_and_nothing_that_runs(root: Path, sweep: SweepResult) -> None:
    """No script, and no address of another host."""
    comparison = api.compare("old-1,old-2", "new-1,new-2")
    sentences = {
        api.result("old-1")._repr_html_(): f"{api.result('old-1').metric_value:,.0f} NOPM",
        sweep._repr_html_(): html.escape(sweep.answer)[:40],
        comparison._repr_html_(): comparison.answer[:60],
    }
    for card, sentence in sentences.items():
        assert sentence in card
        assert "<table>" in card
        assert "not comparable to published results" in card
        assert not re.search(r"<script|http", card)
        assert len(card) < 20_000
    assert "<b>2GB</b>" not in sweep._repr_html_(), "a value of a setting is no HTML"
    means = [ratio.value for ratio in sweep.cell_ratios]
    (table,) = [one for one in ratio_tables(sweep.finding, ranked=True) if one.title == "Against the baseline"]
    assert [row[3] for row in table.rows] == [f"{mean:,.0f}" for mean in sorted(means, reverse=True)]
    assert means != sorted(means, reverse=True), "the plan has another order"
    head, first = (html.escape(table.rows[at][0]) for at in (-1, 0))
    assert sweep._repr_html_().index(f">{first}<") < sweep._repr_html_().index(f">{head}<")


def test_a_comparison_of_different_client_code_carries_a_warning() -> None:
    differences = pd.DataFrame(
        {"base": ["hdbkit wire code", "1"], "new": ["mysqlclient", "2"]}, index=["software.client_path", "load.seed"]
    )
    (warning,) = comparison_warnings(differences, {})
    assert "different client code (hdbkit wire code, mysqlclient)" in warning
    assert comparison_warnings(differences.drop("software.client_path"), {}) == []


def test_settings_that_one_engine_alone_has_are_summed_up() -> None:
    names = ["load.duration_s", "setting.a", "setting.b", "setting.c", "setting.shared"]
    differences = pd.DataFrame({"base": ["1", "1", "", "", "on"], "new": ["2", "", "2", "3", "off"]}, index=names)
    listed, apart = settings_apart(differences)
    assert list(listed.index) == ["load.duration_s", "setting.shared"]
    assert apart == "3 settings of one side that the other does not have (base 1, new 2) are not listed"
    assert settings_apart(listed)[1] == ""
    assert settings_apart(differences[:0])[1] == ""
    (table,) = differences_table(differences)
    assert len(table.rows) == 2
    assert table.note.startswith("3 settings of one side")


def test_a_comparison_of_runs_on_different_hosts_lists_the_facts_and_carries_a_warning(root: Path) -> None:
    other = RunFolder(root / "new-1").read()
    host = other.host.model_copy(update={"name": "db9", "cores": 64, "load_1min_at_start": 9.9})
    moved = RunFolder(root / "on-db9")
    moved.path.mkdir()
    try:
        shutil.copytree(root / "new-1", moved.path, dirs_exist_ok=True)
        moved.write(other.model_copy(update={"run_id": "on-db9", "host": host}))
        found = api.compare("old-1", "on-db9")
        assert list(found.differences.index) == ["host.cores", "host.name"], "the load at the start is no difference"
        assert found.differences.loc["host.name", "new"] == "db9"
        assert "The clients of the sides ran on different hosts (host.cores, host.name)" in found.warnings
        assert not any("hosts" in line for line in api.compare("old-1", "new-1").warnings)
    finally:
        shutil.rmtree(moved.path)


def test_failed_operations_and_checks_of_a_side_are_warned_of(root: Path) -> None:
    manifest = next(RunFolder(path) for path in sorted(root.iterdir()) if (path / "manifest.json").is_file()).read()
    line = CheckLine(name="mix as asked", passed=False, detail="")
    failing = changed(manifest, failed=7).model_copy(update={"checks": [line]})
    sound = changed(manifest, failed=0).model_copy(update={"checks": []})
    found = comparison_warnings(
        pd.DataFrame(columns=["base", "new"]), {"before": [sound], "after": [failing, failing]}
    )
    assert found == ["after: 14 transactions failed", "after: failed checks: mix as asked"]
