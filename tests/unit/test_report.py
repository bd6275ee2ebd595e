"""The report: one file, no external address, all text escaped, small, complete without a result."""

from __future__ import annotations

import json
import math
import pickle
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hdbkit.analysis.run.checks import check_run
from hdbkit.analysis.run.courses import readable
from hdbkit.analysis.run.summary import summarize
from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.caution import Caution, Kind
from hdbkit.report import templates
from hdbkit.report.card import Bar, Card
from hdbkit.report.experiment_report import experiment_report
from hdbkit.report.page import Figure, Page, write_page
from hdbkit.report.ratio_tables import verdict_matrix
from hdbkit.report.run_report import run_report
from hdbkit.report.tables import UNKNOWN, Table, cell, heading, milliseconds
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import CheckLine, Event, Manifest, Status
from tests.unit.synthetic import METRIC, Synthetic, changed, sweep_of, sweep_runs, write_run

MAX_BYTES = 3_000_000


def checked(run: Synthetic) -> Manifest:
    manifest = run.manifest.model_copy(update={"result": summarize(run.folder, run.manifest)})
    manifest = manifest.model_copy(update={"checks": check_run(run.folder, manifest)})
    run.folder.write(manifest)
    return manifest


def write_sweep(
    path: Path, folders: list[RunFolder], blocks: int = 3, users: tuple[int, ...] = (4,), next_step: str = ""
) -> Path:
    answer = "durable=off is <b>faster</b> & that is all."
    texts: dict[str, Any] = {"answer": answer, "command": "hdbkit sweep 'a <file>'", "next_step": next_step}
    sweep = sweep_of(path.parent, sweep_runs(blocks, users), readable(folders), **texts)
    return experiment_report(path, sweep)


def runs_of_sweep(root: Path, original: Synthetic, blocks: int = 3, users: tuple[int, ...] = (4,)) -> list[RunFolder]:
    """A folder for each run of ``sweep_runs``: the small files of one run under many names."""
    manifest, folders = checked(original), []
    for run_id in sweep_runs(blocks, users)["run_id"]:
        folder = RunFolder(root / run_id)
        folder.path.mkdir()
        for name in ("seconds.parquet", "settings.json"):
            shutil.copy(original.folder.path / name, folder.path)
        folder.write(manifest.model_copy(update={"run_id": run_id}))
        folders.append(folder)
    return folders


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    run = write_run(folder / "a-run", duration_s=12, failed=0.001)
    folders = runs_of_sweep(folder, run)
    return {"run": run_report(run.folder), "sweep": write_sweep(folder / "sweep.html", folders)}


def test_a_card_has_one_line_of_trust_with_the_worst_reason_first() -> None:
    warnings = [
        Caution("the data (1 GiB) are larger than shared_buffers", Kind.CACHE).after("in 2 of 6 runs: "),
        Caution("2 of 6 runs failed the check 'steady state'", Kind.CHECK),
        "something <new> of this kind happened in some run, so it counts",
        Caution("other processes used 78 % of the CPU time of the load host", Kind.OTHERS),
    ]
    passed = [CheckLine(name="a rule", passed=True, detail=""), CheckLine(name="another", passed=None, detail="")]
    words = " ".join(str(Card("q", "a", "faster", "x2", checks=passed, warnings=warnings).html()).split())
    assert (
        "<summary>3 reasons to be careful: other processes used the load host; 1 check passed, 1 undecided<" in words
    )
    assert words.index("other processes used 78 %") < words.index("the data (1 GiB)") < words.index("&lt;new&gt;")
    assert "<td>some pages are read from files</td><td>enlarge the cache, or build less data</td>" in words
    assert "hd-failed" not in words, "a warning is not red"


def test_a_failed_check_strikes_the_card() -> None:
    checks = [
        CheckLine(name="steady state", passed=False, detail="it fell"),
        CheckLine(name="b", passed=True, detail=""),
    ]
    card = Card("q", "a", "faster", "x2", checks=checks, warnings=["it drifts by 5 %"])
    words = " ".join(str(card.html()).split())
    assert (card.chip, card.mark) == ("not reliable", "failed")
    assert '<span class="hd-failed">1 of 2 checks failed: steady state</span>; 1 reason to be careful: ' in words


def test_every_reason_has_six_words_at_most() -> None:
    named = [one for one in Kind if one is not Kind.OTHER]
    assert {len(one.brief.split()) for one in named} <= set(range(1, 7))
    assert all(one.effect and one.advice for one in named)
    assert Caution("one, two").brief == "one"
    assert pickle.loads(pickle.dumps(Caution("text", Kind.LOCKS))).kind is Kind.LOCKS


def test_a_warning_of_a_manifest_keeps_its_kind(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a-run").folder
    locks = Caution("users wait", Kind.LOCKS)
    folder.write(folder.read().model_copy(update={"warnings": [locks, "plain"]}))
    assert [(one, Caution.of(one).kind) for one in folder.read().warnings] == [
        ("users wait", Kind.LOCKS), ("plain", Kind.OTHER),
    ]  # fmt: skip
    stored = json.loads((folder.path / "manifest.json").read_bytes())["warnings"]
    assert stored[0] == {"text": "users wait", "kind": "locks"}


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(1.25, 1.98, "95 % interval x1.25 to x1.98"), (0.009, 683, "too few runs"), (math.nan, math.nan, "no interval")],
)
def test_the_bar_of_a_card_has_1_and_its_ends_within_the_picture(low: float, high: float, words: str) -> None:
    bar = Bar(1.57, low, high, 0.02)
    assert bar.words == words
    assert Bar(1.57, low, high, 0.02, 0.96).words == words.replace("95", "96")
    places = [bar.at(one) for one in (1, 1.57, *((low, high) if bar.is_known else ()))]
    assert all(20 < place < 340 for place in places)
    assert bar.band[0] < bar.at(1) < bar.band[1] < bar.at(1.57)


def test_a_table_without_rows_is_its_words_alone() -> None:
    table = templates().get_template("table.html").module.table  # type: ignore[attr-defined]
    empty = Table("Percentiles", ["operation"], [], [False], note="None differs.")
    assert " ".join(table(empty).split()) == '<h2 class="of-table">Percentiles</h2><p class="note">None differs.</p>'
    assert "<th" in table(Table("Percentiles", ["operation"], [["read"]], [False]))


class Reader(HTMLParser):
    """Collects the visible text, the addresses, and whether tags are balanced."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.addresses: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "action")]
        if tag not in ("meta", "br", "wbr", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.text.append(data)


def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    assert reader.open == []
    return reader


@pytest.mark.parametrize("which", ["run", "sweep"])
def test_a_report_is_one_file_without_an_outside_address(reports: dict[str, Path], which: str) -> None:
    page = reports[which].read_text(encoding="utf-8")
    assert read(reports[which]).addresses == []
    assert "default-src 'none'" in page
    assert page.count("<script") == 3 + page.count('"<script') + page.count("'<script")
    assert len(page.encode()) < MAX_BYTES


def test_a_report_of_a_hundred_runs_stays_small(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a-run", duration_s=12)
    folders = runs_of_sweep(tmp_path, run, blocks=7, users=(1, 2, 4, 8))
    assert len(folders) == 112
    path = write_sweep(tmp_path / "large.html", folders, blocks=7, users=(1, 2, 4, 8))
    assert path.stat().st_size < MAX_BYTES


def test_a_run_report_says_answer_table_checks_surroundings_and_command(reports: dict[str, Path]) -> None:
    text = " ".join(read(reports["run"]).text)
    manifest = Manifest.model_validate_json((reports["run"].parent / "manifest.json").read_bytes())
    value = f"{manifest.metric_value:,.0f}"
    assert f"{value} NOPM" in text
    assert f'<span class="hd-value">{value} NOPM</span>' in reports["run"].read_text(encoding="utf-8")
    assert "failed: no transaction failed" in text and "not reliable" in text
    assert f"<dd>{UNKNOWN}</dd>" not in reports["run"].read_text(encoding="utf-8"), "what is unknown has no tile"
    for word in ("stock_level", "Little's law", "buffers", "256 MB", "128 MB", "nulldb 1 & more", "a <fast> one"):
        assert word in text
    assert manifest.command in text
    assert "not comparable to published results" in text
    assert "durable" not in text, "a setting at its default is not shown"


def test_a_sweep_report_says_answer_verdicts_order_and_command(reports: dict[str, Path]) -> None:
    text = " ".join(read(reports["sweep"]).text)
    for ratio in judge(sweep_runs(), METRIC):
        assert ratio.sentence in text
    assert "durable=off is <b>faster</b> & that is all." in text
    assert "hdbkit sweep 'a <file>'" in text
    assert text.count("20260101-0000") >= 12
    assert "failed in 20260101-000000-nulldb-c-w4-u4-abc and 11 more" in text


def test_at_several_counts_of_users_a_configuration_is_a_row_and_a_count_a_column(tmp_path: Path) -> None:
    ratios = judge(sweep_runs(users=(1, 4)), METRIC)
    table = verdict_matrix(ratios, METRIC)
    assert list(table.head) == ["configuration", "1 virtual user", "4 virtual users"]
    assert [row[0] for row in table.rows] == [
        "baseline",
        "durable=off",
        "buffers=256MB",
        "buffers=256MB, durable=off",
    ]
    off = next(ratio for ratio in ratios if (ratio.label, ratio.virtual_users) == ("durable=off", 4))
    metric_value, per_s, change, interval, verdict = table.rows[1][2].split("\n")
    assert per_s == f"{off.operations_per_s:,.0f} /s"
    assert (metric_value, verdict) == (f"{off.value:,.0f}", "faster")
    assert change == f"{100 * (off.ratio - 1):+.1f} %"
    assert interval == f"{100 * (off.low - 1):+.1f} to {100 * (off.high - 1):+.1f} %"
    assert table.look(1, 2) == "n good"
    text = " ".join(read(write_sweep(tmp_path / "s.html", [], users=(1, 4))).text)
    assert all(ratio.sentence in text for ratio in ratios)


def test_what_to_type_stands_beside_the_answer_of_an_undecided_sweep(tmp_path: Path) -> None:
    step = "to decide what is undecided: hdbkit resume a --blocks 9"
    page = write_sweep(tmp_path / "s.html", [], next_step=step).read_text(encoding="utf-8")
    assert 'To decide what is undecided: <code tabindex="0">hdbkit resume a --blocks 9</code>' in page
    assert 'class="next"' not in write_sweep(tmp_path / "t.html", []).read_text(encoding="utf-8")


def test_the_surroundings_of_a_sweep_are_not_those_of_its_first_run(tmp_path: Path) -> None:
    """Counts of virtual users and seeds are the sweep's; a setting that it varied is none of the server's own."""
    (tmp_path / "a-run").mkdir()
    folder = write_run(tmp_path / "a-run" / "b", users=7, duration_s=2).folder
    text = " ".join(" ".join(read(write_sweep(tmp_path / "s.html", [folder], users=(4, 16))).text).split())
    assert "virtual users 4, 16" in text
    assert "seed of the load 1 in block 1, plus 1 in each next block" in text
    assert "seed of the population 1" in text
    assert "256 MB" not in text, "buffers is swept"


def test_a_damaged_run_is_skipped(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a-run", duration_s=2).folder
    (folder.path / "manifest.json").write_text("{")
    assert "faster" in " ".join(read(write_sweep(tmp_path / "s.html", [folder])).text)


def test_a_long_name_in_a_tile_wraps_between_its_words(tmp_path: Path) -> None:
    tile = Figure("configurations", "2", "of synchronous_commit")
    page = Page(kicker="k", card=Card("q?", "a", "faster", "x2"), notice="n", command="c", figures=[tile])
    assert "of synchronous_<wbr>commit<" in write_page(tmp_path / "page.html", page).read_text(encoding="utf-8")


def test_charts_cannot_end_their_script(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a-run", duration_s=2)
    evil = "</script><script>alert(1)</script>"
    manifest = checked(run)
    names = [evil, *manifest.operations[1:]]
    result = changed(manifest, operations=dict(zip(names, manifest.measured.operations.values(), strict=True))).result
    run.folder.write(
        manifest.model_copy(
            update={
                "operations": names,
                "metric": METRIC.model_copy(update={"operations": (evil,)}),
                "result": result,
            }
        )
    )
    page = run_report(run.folder).read_text(encoding="utf-8")
    assert "alert(1)" in page
    assert "<script>alert" not in page
    specs = re.search(r'id="specs">(.*?)</script>', page, re.DOTALL)
    assert specs is not None
    assert "<" not in specs[1]
    assert evil in json.dumps(json.loads(specs[1])["charts"])


def test_a_run_without_a_result_has_a_report_that_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a-run", duration_s=2)
    clock = run.manifest.clock.model_copy(update={"window_start_us": None, "window_end_us": None})  # type: ignore[union-attr]
    event = Event(status=Status.FAILED, at="2026-01-01T00:00:00Z", note="the server went away")  # type: ignore[arg-type]
    failed = run.manifest.model_copy(update={"clock": clock, "status": Status.FAILED, "history": [event]})
    run.folder.write(failed)
    text = " ".join(read(run_report(run.folder)).text)
    assert "The run is failed and has no result: the server went away." in text
    assert "no measured window" in text


def test_a_check_of_a_sweep_fails_when_it_failed_in_one_run(tmp_path: Path) -> None:
    manifest = write_run(tmp_path / "a-run", duration_s=2).manifest
    lines = {"one": (True, "held"), "the-bad-one": (False, "1 of 2 broke"), "three": (True, "held")}
    folders = [RunFolder(tmp_path / name) for name in lines]
    for folder, (passed, detail) in zip(folders, lines.values(), strict=True):
        folder.path.mkdir()
        check = CheckLine(name="a rule", passed=passed, detail=detail)
        folder.write(manifest.model_copy(update={"run_id": folder.run_id, "checks": [check]}))
    text = " ".join(read(write_sweep(tmp_path / "s.html", folders)).text)
    assert "failed in the-bad-one: 1 of 2 broke" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (1234.56, "1,235"),
        (12.3456, "12.35"),
        (0.00012345, "0.000123"),
        (0.0, "0"),
        (None, "\N{EN DASH}"),
        (float("nan"), "\N{EN DASH}"),
        (True, "yes"),
        ((1, "a"), "1, a"),
        ({"a": 1000}, "a 1,000"),
    ],
)
def test_a_value_reads_the_same_everywhere(value: object, text: str) -> None:
    assert cell(value) == text


def test_units_are_reported_in_headings_and_latencies_have_three_digits() -> None:
    assert (heading("p95_us"), heading("outside_pct"), heading("virtual_users")) == (
        "p95 (us)",
        "outside (%)",
        "virtual users",
    )
    assert [milliseconds(us) for us in (12, 1234, 12_345, 1_234_567)] == ["0.012", "1.23", "12.3", "1,235"]
