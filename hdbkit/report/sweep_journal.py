"""The course of a sweep, from its journal: preparation of each run, other events, whether the server is restored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from hdbkit.caution import Caution, Kind
from hdbkit.config.metric import Metric
from hdbkit.later import pandas as pd
from hdbkit.report.tables import UNKNOWN, Table, cell, heading, text_table
from hdbkit.results.journal import RESTORED, UNCHANGED, ExperimentState, JournalLine, Step

_PREPARED = {
    "applied_s": "{applied_by}",
    "restored_s": "data",
    "rebuilt_s": "schema",
    "maintained_s": "maintenance",
    "restarted_s": "cache",
    "rested_s": "rest",
}
"""The steps before a run in their order, by the name of the seconds that they take."""
_NOTE = (
    "Preparation in seconds: settings applied (in a session, by a reload or a restart) and read back; data restored, "
    "or a schema built; maintenance; cache emptied by a restart; cool-down."
)
_WORDS = {
    Step.STARTED: "the sweep starts",
    Step.SETTINGS_SAVED: "the server's original settings are saved",
    Step.DATA_KEPT: "a copy of the original data is kept",
    Step.RUN_STARTED: "",
    Step.RUN_FINISHED: "{note}",
    Step.RUN_ENDED_EARLY: "run {number} {note}",
    Step.RUN_FAILED: "run {number} failed: {note}",
    Step.RUN_DISCARDED: "run {number} is repeated: {note}",
    Step.SETTINGS_RESTORED: "{restored}",
    Step.DATA_RESTORED: "the data are restored",
    Step.NOTED: "{note}",
    Step.MORE_BLOCKS: "extended to {blocks} blocks",
    Step.EXTENDED: "extended to {blocks} blocks",
    Step.LOOKED: "analysis after {blocks} blocks: {undecided} configurations are undecided",
    Step.DECIDED: "{note}",
    Step.WINNERS_CHOSEN: "the fastest and the baseline get {blocks} fresh blocks",
    Step.STOPPED: "stopped: {note}",
    Step.FAILED: "failed: {note}",
    Step.FINISHED: "the sweep is finished: {note}",
}
"""The sentence for each line of the journal; lines of successful runs are omitted."""
_MIN_S = 0.05
"""Steps that take less are left out."""

JournalLines = Sequence[JournalLine]


def settings_table(tried: Mapping[str, Sequence[str]], journal: JournalLines) -> list[Table]:
    """The settings that were tried, before and after the sweep; none where it changed none."""
    servers = ExperimentState(journal).servers
    if not tried or not servers:
        return []
    (state,) = servers.values()
    after = dict(state.restored.details.get("found", {})) if state.restored else {}
    head = ["setting", "tried", *(["before the sweep"] if state.found else []), *(["after it"] if after else [])]
    rows = [
        [name, ", ".join(values), *(one.get(name, UNKNOWN) for one in (state.found, after) if one)]
        for name, values in tried.items()
    ]
    note = restored(journal) or "The settings are not restored yet."
    return [Table("Server restored?", head, rows, [False] * len(head), note=note)]


def restored(journal: JournalLines) -> str:
    """When the server's settings were restored; empty where they are not, or were never changed."""
    whole = ExperimentState(journal)
    state = next(iter(whole.servers.values()), None)
    if state is None or not state.restored or whole.changed or state.restored.note == UNCHANGED:
        return ""
    after = state.restored.details.get("found", {})
    read = f" Read back: {', '.join(f'{name}={value}' for name, value in after.items())}." if after else ""
    at, note = _clock(state.restored.at), state.restored.note or RESTORED
    done = "all settings of the server were restored" if note == RESTORED else note
    return f"At {at} UTC {done}.{read}"


def unrestored(journal: JournalLines, experiment_id: str) -> list[str]:
    """A warning where the server still has settings of the sweep, or has others than before it; none otherwise."""
    servers = ExperimentState(journal).servers.values()
    if any(state.changed for state in servers):
        text = (
            f"The server still has settings of the sweep. They are restored at its end; to restore them now, run: "
            f"hdbkit resume {experiment_id}."
        )
        return [Caution(text, Kind.UNRESTORED)]
    return [
        Caution(f"{name} was {state.found[name]} before the sweep and is {value} after it.", Kind.CHANGED)
        for state in servers
        for name, value in (state.restored.details.get("found", {}) if state.restored else {}).items()
        if name in state.found and state.found[name] != value
    ]


def order_table(runs: pd.DataFrame, metric: Metric, labels: Mapping[int, str], journal: JournalLines) -> Table:
    """Every planned run in its order, when it started, and what was done to the server before it."""
    begun = {line.number: line for line in journal if line.step is Step.RUN_STARTED}
    rows = []
    for row in runs.sort_values("number").to_dict("records"):
        line = begun.get(row["number"])
        rows.append(
            [
                cell(row["number"]),
                f"{cell(row['block'])}{' (fresh)' if row['fresh'] else ''}",
                labels[row["configuration"]],
                cell(row["virtual_users"]),
                UNKNOWN if pd.isna(row["metric_value"]) else metric.number(row["metric_value"]),
                cell(row["operations_per_s"]),
                cell(row["status"]),
                _clock(line.at) if line else UNKNOWN,
                _prepared(line) if line else UNKNOWN,
                row["run_id"] or UNKNOWN,
            ]
        )
    head = [
        "run",
        "block",
        "configuration",
        "users",
        metric.name,
        heading("operations_per_s"),
        "status",
        "started (UTC)",
        "prepared (s)",
        "run id",
    ]
    numeric = [True, False, False, True, True, True, False, False, False, False]
    return Table("Order of the runs", head, rows, numeric, note=_NOTE)


def events_table(journal: JournalLines) -> Table:
    """What happened besides successful runs."""
    rows = [
        [f"{line.at:%Y-%m-%d} {_clock(line.at)}", text]
        for position, line in enumerate(journal)
        if (text := _words(line, first=position == 0))
    ]
    return text_table("Events", ["at (UTC)", "event"], rows)


def _prepared(line: JournalLine) -> str:
    steps = [
        f"{what.format_map({'applied_by': line.details.get('applied_by', '?')})} {took_s:.1f}"
        for name, what in _PREPARED.items()
        if (took_s := float(line.details.get(name) or 0)) >= _MIN_S
    ]
    busy_pct = line.details.get("busy_pct")
    steps += [f"host then {busy_pct:.0f} % busy"] if busy_pct is not None else []
    return ", ".join(steps) or UNKNOWN


def _words(line: JournalLine, first: bool) -> str:
    """A line of the journal as a sentence; empty for a successful run."""
    if line.step is Step.STARTED and not first:
        return "another process continues the sweep"
    words = defaultdict(
        lambda: "?", {**line.details, "number": line.number, "note": line.note, "restored": line.note or RESTORED}
    )
    return _WORDS[line.step].format_map(words).removesuffix(": ")


def _clock(at: datetime) -> str:
    return f"{at:%H:%M:%S}"
