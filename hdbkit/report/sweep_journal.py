"""The course of a sweep, from its journal: how each run was prepared, what else happened, what the server is now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

import pandas as pd

from hdbkit.report.tables import UNKNOWN, Table, cell, text_table
from hdbkit.results.journal import JournalLine, Step, SweepState

_PREPARED = {
    "applied_s": "{applied_by}",
    "restored_s": "data",
    "rebuilt_s": "schema",
    "maintained_s": "maintenance",
    "restarted_s": "cache",
    "rested_s": "rest",
}
"""What is done before a run, in its order, by the name of the seconds that it takes."""
_NOTE = (
    "Prepared, in seconds: settings applied (in a session, by a reload or a restart) and read back; data brought "
    "back as found, or a schema built; maintenance; cache emptied by a restart; rest."
)
_WORDS = {
    Step.STARTED: "the sweep begins",
    Step.SETTINGS_SAVED: "the server's settings are on disk as found",
    Step.DATA_KEPT: "the data are kept as found",
    Step.RUN_STARTED: "",
    Step.RUN_FINISHED: "{note}",
    Step.RUN_ENDED_EARLY: "run {number} {note}",
    Step.RUN_FAILED: "run {number} failed: {note}",
    Step.RUN_DISCARDED: "run {number} is done again: {note}",
    Step.SETTINGS_RESTORED: "the server's settings are again as found",
    Step.DATA_RESTORED: "the data are again as found",
    Step.NOTED: "{note}",
    Step.EXTENDED: "planned on to {blocks} blocks",
    Step.LOOKED: "looked at after {blocks} blocks: undecided are {undecided} configurations",
    Step.WINNERS_CHOSEN: "the fastest and the baseline get {blocks} fresh blocks",
    Step.STOPPED: "stopped: {note}",
    Step.FAILED: "broken off: {note}",
    Step.SWEEP_FINISHED: "the sweep is finished",
}
"""Each line of the journal in words; that of a run that went well is passed over."""
_LEAST_S = 0.05
"""What takes less is not told."""

Journal = Sequence[JournalLine]


def settings_table(tried: Mapping[str, Sequence[str]], journal: Journal) -> list[Table]:
    """The settings that were tried, before and after the sweep; none where it changed none."""
    state = SweepState(list(journal))
    if not tried or not state.identity:
        return []
    after = dict(state.restored.details.get("found", {})) if state.restored else {}
    head = [
        "setting",
        "tried",
        *(["before the sweep"] if state.found else []),
        *(["after it"] if after else []),
    ]
    rows = [
        [name, ", ".join(values), *(one.get(name, UNKNOWN) for one in (state.found, after) if one)]
        for name, values in tried.items()
    ]
    note = restored(journal) or "They are not brought back yet."
    return [Table("Is the server again what it was?", head, rows, [False] * len(head), note=note)]


def restored(journal: Journal) -> str:
    """That the server has its settings again, and since when; empty where it has not, or never lost them."""
    state = SweepState(list(journal))
    if not state.restored or state.changed:
        return ""
    after = state.restored.details.get("found", {})
    read = f" Read again then: {', '.join(f'{name}={value}' for name, value in after.items())}." if after else ""
    at = _clock(state.restored.at)
    return f"At {at} UTC all settings of the server were brought back to what they were before the sweep.{read}"


def unrestored(journal: Journal, sweep_id: str) -> list[str]:
    """A warning where the server still has settings of the sweep, or has others than before it; none otherwise."""
    state = SweepState(list(journal))
    if state.changed:
        return [
            f"The settings of the server are not what they were before the sweep: its end brings them back, or type: "
            f"hdbkit sweep --resume {sweep_id}."
        ]
    after = dict(state.restored.details.get("found", {})) if state.restored else {}
    return [
        f"{name} was {state.found[name]} before the sweep and is {value} after it."
        for name, value in after.items()
        if name in state.found and state.found[name] != value
    ]


def order_table(runs: pd.DataFrame, labels: Mapping[int, str], journal: Journal) -> Table:
    """Every planned run in its order, when it began, and what was done to the server before it."""
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
                UNKNOWN if pd.isna(row["metric_value"]) else f"{row['metric_value']:,.0f}",
                cell(row["status"]),
                _clock(line.at) if line else UNKNOWN,
                _prepared(line) if line else UNKNOWN,
                row["run_id"] or UNKNOWN,
            ]
        )
    head = ["run", "block", "configuration", "users", "NOPM", "status", "began (UTC)", "prepared (s)", "run id"]
    numeric = [True, False, False, True, True, False, False, False, False]
    return Table("In which order was it measured?", head, rows, numeric, note=_NOTE)


def events_table(journal: Journal) -> Table:
    """What happened besides runs that went well."""
    rows = [
        [f"{line.at:%Y-%m-%d} {_clock(line.at)}", said]
        for place, line in enumerate(journal)
        if (said := _said(line, first=place == 0))
    ]
    return text_table("What else happened?", ["at (UTC)", "what"], rows)


def _prepared(line: JournalLine) -> str:
    told = [
        f"{what.format_map({'applied_by': line.details.get('applied_by', '?')})} {took_s:.1f}"
        for name, what in _PREPARED.items()
        if (took_s := float(line.details.get(name) or 0)) >= _LEAST_S
    ]
    busy_pct = line.details.get("busy_pct")
    told += [f"host then {busy_pct:.0f} % busy"] if busy_pct is not None else []
    return ", ".join(told) or UNKNOWN


def _said(line: JournalLine, first: bool) -> str:
    """A line of the journal in words; empty for a run that went well."""
    if line.step is Step.STARTED and not first:
        return "a process goes on with it"
    words = defaultdict(lambda: "?", {**line.details, "number": line.number, "note": line.note})
    return _WORDS[line.step].format_map(words).removesuffix(": ")


def _clock(at: datetime) -> str:
    return f"{at:%H:%M:%S}"
