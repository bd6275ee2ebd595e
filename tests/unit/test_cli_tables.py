"""Tables on a narrow screen: texts are wrapped, numbers and run ids are not."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from rich.console import Console

from hdbkit.analysis.comparison.plans import PlanPair
from hdbkit.cli import looking, show
from hdbkit.config.steps import RateStep
from hdbkit.report.tables import Table
from hdbkit.results.manifest import CheckLine
from hdbkit.results.run_result import StepLatencies, StepResult
from tests.conftest import HdbkitCommand
from tests.unit.synthetic import figures, with_result, write_run

LONG = "checkpoint_completion_target=0.9, synchronous_commit=off"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is printed, on a screen of 80 columns."""
    text = io.StringIO()
    monkeypatch.setattr(show, "console", Console(file=text, width=80, highlight=False, soft_wrap=True))
    return text


def test_verdicts_with_long_names_fit_80_columns_and_their_numbers_stay_whole(shown: io.StringIO) -> None:
    row = {"label": LONG, "virtual_users": 16, "runs": 8, "metric_value": 123456.0, "ratio": 1.2345, "low": 1.1234}
    frame = pd.DataFrame([{**row, "high": 1.3456, "verdict": "equivalent"}])
    show.console.print(show.table(frame, title="a sweep"))
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    words = shown.getvalue().split()
    assert {"123,456", "1.234", "1.123", "1.346", "synchronous_commit=off", "equivalent"} <= set(words)


def test_a_run_of_steps_lists_each_of_them_and_the_time_that_it_shows(shown: io.StringIO) -> None:
    line = StepResult(
        step=RateStep.parse("60 s at 20000/s"), start_s=1, end_s=61, offered_per_s=20_000, users=None,
        completed_per_s=12_345, failed=7, service=StepLatencies(p50_us=111, p95_us=None, p99_us=None),
        response=StepLatencies(p50_us=2_222_222, p95_us=None, p99_us=None),
    )  # fmt: skip
    for paced, time, p50 in ((True, "response", "2,222,222"), (False, "service", "111")):
        manifest = SimpleNamespace(paced=paced, headline="new_order", result=figures(1.0, steps=[line]))
        show.steps(SimpleNamespace(manifest=manifest))
        text = shown.getvalue()
        assert f"the {time} time of new_order" in text
        assert {"20,000", "12,345", "7", p50} <= set(text.split())
        assert "users" not in text


def test_a_table_that_fits_is_not_broken(shown: io.StringIO) -> None:
    frame = pd.DataFrame({"run_id": ["20261121-172312-postgresql-c-w4-u2-aui"], "what it was": ["a short text"]})
    show.console.print(show.table(frame))
    assert "20261121-172312-postgresql-c-w4-u2-aui" in shown.getvalue()
    assert "what it was" in shown.getvalue()


def test_names_of_runs_in_titles_and_heads_are_no_markup(shown: io.StringIO) -> None:
    name, page = (
        "old[/b][red]",
        Table("Against old[/b][red]", ["figure", "old[/b][red]"], [["TPS", "1"]], [False, True]),
    )
    show.console.print(show.page_table(page))
    pair = PlanPair(name, (("scan", "seek"),), (True,))
    show.different_plans([pair], (name, "new"))
    assert shown.getvalue().count(name) == 4


def test_a_name_that_is_too_long_is_folded_and_ids_and_numbers_are_not(shown: io.StringIO) -> None:
    run_id, name = "20261121-172312-postgresql-c-w4-u2-aui", "checkpoint_completion_target=" * 4
    frame = pd.DataFrame({"run_id": [run_id], "settings": [name], "metric_value": [1234567.0]})
    show.console.print(show.table(frame))
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert run_id in shown.getvalue()
    assert "1,234,567" in shown.getvalue()
    assert name in "".join(line[len(run_id) : -len("1,234,567")].strip() for line in lines[2:])


@pytest.mark.parametrize(
    ("run_id", "metric", "omitted"),
    [
        ("20261121-172312-nulldb-c-u2-aui", "NOPM", ["p95_ms"]),
        (
            "20261121-172312-postgresql-tpcb-like-s10-u16-abcdef",
            "operations/s",
            ["p95_ms", "checks_failed", "metric", "label"],
        ),
    ],
)
def test_runs_on_a_narrow_screen_break_no_word(
    shown: io.StringIO, monkeypatch: pytest.MonkeyPatch, run_id: str, metric: str, omitted: list[str]
) -> None:
    row = {"run_id": run_id, "status": "done", "metric_value": 123456.0, "metric": metric}
    row |= {"operations_per_s": 2345.6, "p95_us": 12345.6, "checks_failed": 12, "label": "nightly build"}
    listed = _runs(row | {"mean_us": 10.0})
    monkeypatch.setattr(looking.api, "runs", lambda _, **__: listed)
    looking.runs_list()
    row["p95_ms"] = row.pop("p95_us") / 1000
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    words = set(shown.getvalue().split())
    left = {name: value for name, value in row.items() if name not in omitted}
    assert {word for value in left.values() for word in show.cell(value).split()} <= words
    assert not {show.cell(row[name]) for name in omitted} & words
    assert (f"not shown here: {', '.join(omitted)}; see --json" in shown.getvalue()) is bool(omitted)


def _runs(row: dict[str, object]) -> pd.DataFrame:
    found = pd.DataFrame([row])
    found.attrs["damaged"] = []
    return found


def test_a_failed_check_is_in_the_first_line_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: HdbkitCommand
) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path))
    run = with_result(write_run(tmp_path / "a-run", duration_s=2))
    assert "not reliable" not in command("runs", "show", "a-run").out
    checks = [CheckLine(name="no standstill", passed=False, detail="it stood still")]
    run.folder.write(run.manifest.model_copy(update={"checks": checks}))
    first = command("runs", "show", "a-run").out.splitlines()[0]
    assert first.startswith("a-run") and "not reliable, 1 check failed: no standstill" in first
