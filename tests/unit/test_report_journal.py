"""The course of a sweep in its report: order, preparation of each run, other events, the state of the server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hdbkit.analysis.sweep.verdicts import configuration_labels
from hdbkit.report.ratio_tables import files_table
from hdbkit.report.sweep_journal import events_table, order_table, settings_table, unrestored
from hdbkit.report.tables import UNKNOWN
from hdbkit.results.journal import JournalLine, Step
from tests.unit.synthetic import GRID, METRIC, sweep_runs

BEGAN = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
PREPARED = {"applied_by": "restart", "applied_s": 1.24, "restored_s": 0.5, "rested_s": 0.01, "busy_pct": 3.2}


def journal(*steps: tuple[Step, dict[str, Any]]) -> list[JournalLine]:
    """A line a second."""
    return [JournalLine(step=step, at=BEGAN + timedelta(seconds=i), **rest) for i, (step, rest) in enumerate(steps)]


WHOLE = journal(
    (Step.STARTED, {}),
    (Step.SETTINGS_SAVED, {"details": {"identity": "a", "found": {"buffers": "128MB", "durable": "on"}}}),
    (Step.RUN_STARTED, {"number": 1, "run_id": "one", "details": PREPARED}),
    (Step.RUN_FINISHED, {"number": 1, "run_id": "one"}),
    (Step.RUN_STARTED, {"number": 2, "run_id": "two", "details": {}}),
    (Step.RUN_FAILED, {"number": 2, "run_id": "two", "note": "the server said no"}),
    (Step.NOTED, {"note": "the agent is away"}),
    (Step.STARTED, {}),
    (Step.LOOKED, {"details": {"blocks": 4, "undecided": 0}}),
    (Step.SETTINGS_RESTORED, {"details": {"found": {"buffers": "128MB", "durable": "on"}}}),
    (Step.FINISHED, {}),
)


def test_every_run_is_reported_in_its_order_with_what_was_done_before_it() -> None:
    runs = sweep_runs()
    labels = configuration_labels(runs)
    rows = order_table(runs, METRIC, labels, WHOLE).rows
    assert [row[0] for row in rows] == [str(number) for number in range(1, 13)]
    assert rows[0][7:9] == ["12:00:02", "restart 1.2, data 0.5, host then 3 % busy"]
    assert rows[2][7:9] == ["\N{EN DASH}"] * 2


def test_what_happened_besides_is_reported_as_a_sentence_and_runs_that_went_well_are_not() -> None:
    assert [row[1] for row in events_table(WHOLE).rows] == [
        "the sweep starts",
        "the server's original settings are saved",
        "run 2 failed: the server said no",
        "the agent is away",
        "another process continues the sweep",
        "analysis after 4 blocks: 0 configurations are undecided",
        "the server's settings are restored",
        "the sweep is finished",
    ]


def test_each_step_has_words() -> None:
    silent = {Step.RUN_STARTED, Step.RUN_FINISHED}
    for step in Step:
        rows = events_table(journal((step, {"number": 1, "note": "" if step in silent else "so"}))).rows
        assert len(rows) == (step not in silent), step


def test_the_settings_stand_beside_what_they_were_and_what_they_are() -> None:
    (table,) = settings_table(GRID, WHOLE)
    assert table.head == ["setting", "tried", "before the sweep", "after it"]
    assert table.rows == [["buffers", "64MB, 256MB", "128MB", "128MB"], ["durable", "on, off", "on", "on"]]
    assert table.note.startswith("At 12:00:09 UTC all settings of the server were restored.")
    assert unrestored(WHOLE, "a") == []
    assert settings_table(GRID, []) == settings_table({}, WHOLE) == []


def test_files_of_settings_stand_beside_each_other() -> None:
    (table,) = files_table({"own": {"a": "1", "b": "2"}, "tuned": {"a": "3"}})
    assert (table.head, table.rows) == (["setting", "own", "tuned"], [["a", "1", "3"], ["b", "2", UNKNOWN]])
    assert files_table({}) == []


def test_settings_that_are_not_back_are_a_warning() -> None:
    (table,) = settings_table(GRID, WHOLE[:-2])
    assert "not restored yet" in table.note
    assert "hdbkit resume demo-1" in unrestored(WHOLE[:-2], "demo-1")[0]
    other = WHOLE[:-2] + journal(
        (Step.SETTINGS_RESTORED, {"details": {"found": {"buffers": "1GB", "durable": "on"}}})
    )
    assert unrestored(other, "demo-1") == ["buffers was 128MB before the sweep and is 1GB after it."]
