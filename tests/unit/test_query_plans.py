"""The optimizer's plans of queries: asked of an engine, kept by a run, shown, and compared side by side."""

from __future__ import annotations

from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from hdbkit import api
from hdbkit.analysis.comparison.plans import plan_pairs, plans_note
from hdbkit.config import Target
from hdbkit.contracts import Scope, SessionOptions
from hdbkit.databases import database
from hdbkit.errors import DamagedResult
from hdbkit.execution.query_plans import explained
from hdbkit.report.run_report import run_report
from hdbkit.results.query_plans import QueryPlan, read_plans, write_plans
from hdbkit.sql import made
from tests.conftest import HdbkitCommand
from tests.unit.synthetic import write_queries

CREATE = "CREATE TABLE things AS SELECT range AS id, DATE '1996-02-01' AS day FROM range(100)"
SCAN = "Aggregate  (cost=15.62 rows=1)\n  ->  Seq Scan on things  (cost=1.5 rows=1,162)\n        Filter: (id < 24)"
INDEX = "Aggregate  (cost=4.1 rows=1)\n  ->  Index Scan using by_id on things  (cost=0.5 rows=7)"


def plan(text: str) -> QueryPlan:
    return QueryPlan(arguments={"day": "1996-01-01"}, text=text, content={"Plan": []})


def test_an_engine_explains_a_statement_with_its_values(tmp_path: Path) -> None:
    target = Target(kind="duckdb", database=str(tmp_path / "data"))
    engine = database(target)
    with closing(engine.connect(target)) as session:
        session.execute(CREATE)  # type: ignore[attr-defined]
    text = "SELECT id FROM things WHERE id < :most AND day >= :day"
    scope = Scope("", {"find_things": made("find_things", text, tmp_path)})
    given = {"most": 24, "day": date(1996, 1, 1)}
    found = explained(engine, target, scope, SessionOptions(), {"find_things": given})["find_things"]
    assert "things" in found.text and len(found.text.splitlines()) > 3
    assert "id < 24" in str(found.content)
    assert found.arguments == {"most": "24", "day": "1996-01-01"}


def test_plans_that_differ_in_numbers_are_alike_and_lines_that_differ_are_beside_each_other() -> None:
    base = {"q01": plan(SCAN), "q02": plan(SCAN), "q03": plan(SCAN)}
    new = {"q01": plan(SCAN.replace("1,162", "9").replace("24", "3.5e+10")), "q02": plan(INDEX)}
    pairs = plan_pairs(base, new)
    assert [(one.operation, one.alike) for one in pairs] == [("q01", True), ("q02", False)]
    assert pairs[1].differs == (False, True, True)
    assert pairs[1].lines[1:] == ((SCAN.splitlines()[1], INDEX.splitlines()[1]), (SCAN.splitlines()[2], ""))
    assert plans_note(pairs) == "1 of 2 plans of queries differ: q02"
    assert plans_note([]) == ""


def test_boxes_of_another_width_are_no_difference() -> None:
    narrow, wide = ({"q": plan(f"╭─ Scan {line}╮\n│ ~{rows} rows{space}│")} for line, rows, space in BOXES)
    assert plan_pairs(narrow, wide)[0].alike


BOXES = (("──", "35", "  "), ("─────", "12,035", "      "))


def test_a_run_keeps_its_plans_and_a_comparison_shows_those_that_differ(
    tmp_path: Path, command: HdbkitCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path))
    for name, text in (("old", SCAN), ("new", INDEX)):
        run = write_queries(tmp_path / name, {"q01": 0.5, "q02": 0.1})
        write_plans(run.folder.plans, {"q02": plan(text), "q01": plan(SCAN)})
    assert list(api.result("old").plans) == ["q01", "q02"]
    shown = command("runs", "show", "old", "--plans").out
    assert "Seq Scan on things" in shown and "day = 1996-01-01" in shown
    assert "Seq Scan on things" in run_report(api.result("old").folder).read_text(encoding="utf-8")
    said = command("compare", "old", "new").out
    assert "1 of 2 plans of queries differ: q02; see them with --plans" in said and "Seq Scan" not in said
    assert "Index Scan" in command("compare", "old", "new", "--plans").out
    page = api.compare("old", "new").report().read_text(encoding="utf-8")
    assert "<summary>1 of 2 plans of queries differ: q02</summary>" in page and "Index Scan" in page


def test_a_run_without_plans_has_none_and_a_damaged_file_is_reported(tmp_path: Path) -> None:
    assert read_plans(tmp_path / "plans.json") == {}
    (tmp_path / "plans.json").write_text("{")
    with pytest.raises(DamagedResult, match=r"plans\.json cannot be read"):
        read_plans(tmp_path / "plans.json")
