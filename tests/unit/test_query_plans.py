"""The optimizer's plans of queries: asked of an engine, kept by a run, shown, and compared side by side."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import date
from pathlib import Path

import pandas as pd
import pytest

from hdbkit import api
from hdbkit.analysis.comparison.plans import (
    changed_note,
    changed_plans,
    changes_within,
    other_plans,
    plan_pairs,
    plans_note,
)
from hdbkit.config import Target
from hdbkit.contracts import Scope, SessionOptions
from hdbkit.databases import database
from hdbkit.errors import DamagedResult
from hdbkit.execution.query_plans import Explainer, PlanWatch
from hdbkit.report.plan_tables import changed_plan_tables, plan_tables
from hdbkit.report.run_report import run_report
from hdbkit.results.kept import QueryPlan, read_plans, write_plans
from hdbkit.sql import made
from tests.conftest import HdbkitCommand
from tests.unit.synthetic import plan_of, write_queries

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
    with closing(Explainer(engine, target, scope, SessionOptions(), {"find_things": given})) as explainer:
        found, *others = (explainer.plans(for_programs=of_all)["find_things"] for of_all in (True, False, False))
    assert [(one.text, one.content) for one in others] == 2 * [(found.text, None)]
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


def test_a_plan_that_only_one_side_has_is_named_with_the_table_that_it_scans() -> None:
    scan, index = {"q01": plan(SCAN), "q02": plan(SCAN)}, {"q01": plan(INDEX), "q02": plan(SCAN)}
    assert other_plans([index, index], [scan, scan]) == ["q01 now reads all of things"]
    assert other_plans([scan], [index]) == ["q01 no longer reads all of things"]
    assert other_plans([scan, index], [scan]) == []
    other = {"q01": plan(INDEX.replace("by_id", "by_day"))}
    assert other_plans([index], [other]) == ["q01 now uses by_day and no longer uses by_id"]


def test_a_number_in_a_name_is_part_of_the_plan() -> None:
    """HammerDB's own indexes are ``customer_i1`` and ``customer_i2``."""
    sides = [
        {"payment": plan(f"Index Scan using customer_i{n} on customer  (cost=0.2{n}..8.3 rows={n})")} for n in (1, 2)
    ]
    (pair,) = plan_pairs(*sides)
    assert not pair.alike
    assert other_plans(sides[:1], sides[1:]) == ["payment now uses customer_i2 and no longer uses customer_i1"]


def test_boxes_of_another_width_are_no_difference() -> None:
    narrow, wide = ({"q": plan(f"╭─ Scan {line}╮\n│ ~{rows} rows{space}│")} for line, rows, space in BOXES)
    assert plan_pairs(narrow, wide)[0].alike


def test_a_plan_that_changes_within_a_run_is_named_with_the_table_and_the_time() -> None:
    watch = PlanWatch(plan_of())
    start_ns = time.monotonic_ns()
    for text in (INDEX, INDEX.replace("4.1", "4.2"), SCAN):
        watch.see({"q01": plan(text), "q02": plan(INDEX)})
    kept = watch.complete({"q01": plan(SCAN), "q02": plan(INDEX)}, start_ns - 41_000_000_000)
    ((at_s, *changed),) = changes_within(kept)
    assert (round(at_s), *changed) == (41, "q01", "now reads all of things")
    assert [one.title for one in plan_tables(kept)] == ["q01 until 41 s of the run", "q01", "q02"]


def test_an_index_that_was_only_considered_is_no_other_plan() -> None:
    sides = (
        {"q": plan(f'"possible_keys": {keys},\n"key": "PRIMARY"')} for keys in ('["PRIMARY", "by_id"]', '["PRIMARY"]')
    )
    assert plan_pairs(*sides)[0].alike


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
    assert "1 of 2 plans of queries differ: q02" in said and "see them with --plans" in said
    assert "Seq Scan" not in said
    assert "Index Scan" in command("compare", "old", "new", "--plans").out
    page = api.compare("old", "new").report().read_text(encoding="utf-8")
    assert "<summary>1 of 2 plans of queries differ: q02</summary>" in page and "Index Scan" in page


def test_a_run_without_plans_has_none_and_a_damaged_file_is_reported(tmp_path: Path) -> None:
    assert read_plans(tmp_path / "plans.json") == {}
    (tmp_path / "plans.json").write_text("{")
    with pytest.raises(DamagedResult, match=r"plans\.json cannot be read"):
        read_plans(tmp_path / "plans.json")


RUNS = pd.DataFrame(
    [
        ("a1", 0, 1, 1, "done"),
        ("a2", 1, 1, 1, "done"),
        ("a3", 2, 1, 1, "failed"),
        ("b1", 0, 2, 1, "done"),
        ("b3", 2, 2, 1, "done"),
        ("b4", 3, 2, 1, "done"),
    ],
    columns=["run_id", "configuration", "block", "virtual_users", "status"],
)
LABELS = {0: "baseline", 1: "workers=0", 2: "jit=off", 3: "both"}


def test_the_plans_of_a_sweep_are_beside_those_of_the_baseline_in_the_same_block() -> None:
    """The parameters of block 2 are others, so a plan of block 2 is not compared with one of block 1."""
    kept = {
        "a1": {"q01": plan(SCAN), "q02": plan(SCAN)},
        "a2": {"q01": plan(INDEX), "q02": plan(SCAN.replace("1,162", "7"))},
        "b1": {"q01": plan(SCAN), "q02": plan(INDEX)},
        "b3": {"q01": plan(INDEX.replace("4.1", "4.2")), "q02": plan(INDEX)},
        "b4": {"q01": plan(SCAN), "q02": plan(SCAN)},
    }
    changed = changed_plans(RUNS, LABELS, kept.__getitem__)
    assert [(one.pair.operation, one.labels) for one in changed] == [
        ("q01", ("workers=0", "jit=off")),
        ("q02", ("both",)),
    ]
    assert changed[0].pair.lines[1] == (SCAN.splitlines()[1], INDEX.splitlines()[1])
    assert changed_note(changed) == "2 queries with a plan that differs from the baseline's: q01, q02"
    first, second = changed_plan_tables(changed)
    assert (first.title, first.head) == ("q01", ["baseline", "workers=0; jit=off"])
    assert second.marks == ["", "unsure", "unsure"]


def test_runs_without_plans_or_with_damaged_ones_have_no_other_plans() -> None:
    def damaged(_: str) -> dict[str, QueryPlan]:
        raise DamagedResult("plans.json cannot be read")

    assert changed_plans(RUNS, LABELS, damaged) == []
    assert changed_plans(RUNS, LABELS, lambda _: {}) == []
    assert changed_note([]) == ""
