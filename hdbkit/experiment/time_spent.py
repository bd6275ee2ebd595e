"""How the time of an experiment was spent: which share of it measured, and what the rest was.

A moment counts once, as the first of these that any of its runs was in: the window, ramp-up, start, end (the last
operations, counts, checks and files). What is left is between runs: settings, data, cooldown and analysis. Time in
which no process executed the experiment does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import pairwise

from hdbkit.errors import DamagedResult
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import JournalLine, Step
from hdbkit.results.manifest import Status
from hdbkit.text import duration_text, share

BETWEEN = "between runs"
_STAGES: Mapping[Status, str] = {
    Status.MEASURING: "measured",
    Status.RAMPUP: "ramp-up",
    Status.STARTING: "start of runs",
    Status.FINISHING: "end of runs",
}
"""In the order in which they count."""
_PAUSE = "pause"


def time_spent_s(folder: ExperimentFolder) -> dict[str, float]:
    """Seconds by what they were spent on, of all of the journal so far."""
    lines = folder.journal.lines
    spans = [*_spans(folder, lines), *_pauses(lines)]
    changes = [(at, what, by) for begin, end, what in spans for at, by in ((begin, 1), (end, -1))]
    changes += [(line.at, BETWEEN, 0) for line in lines]
    active, spent_s = Counter[str](), dict.fromkeys([*_STAGES.values(), BETWEEN], 0.0)
    for (at, what, by), (until, _, _) in pairwise(sorted(changes)):
        active[what] += by
        if not active[_PAUSE]:
            stage = next((stage for stage in _STAGES.values() if active[stage]), BETWEEN)
            spent_s[stage] += (until - at).total_seconds()
    return spent_s


def _spans(folder: ExperimentFolder, lines: Sequence[JournalLine]) -> Iterator[tuple[datetime, datetime, str]]:
    """From each change of a run's status to the next, and what that was."""
    for run_id in dict.fromkeys(line.run_id for line in lines if line.run_id):
        with suppress(DamagedResult):
            for before, after in pairwise(RunFolder(folder.root / run_id).read().history):
                if before.status in _STAGES:
                    yield before.at, after.at, _STAGES[before.status]


def _pauses(lines: Sequence[JournalLine]) -> Iterator[tuple[datetime, datetime, str]]:
    """The times in which no process executed the experiment."""
    for before, after in pairwise(lines):
        if after.step is Step.STARTED:
            yield before.at, after.at, _PAUSE


def time_spent_text(spent_s: Mapping[str, float]) -> str:
    """The same in words: ``36 % of 2.8 minutes measured; end of runs 30 %, between runs 25 %, start of runs 9 %``."""
    total_s = sum(spent_s.values())
    if not total_s:
        return ""
    measured, *rest = spent_s.items()
    others = sorted(rest, key=lambda one: -one[1])
    named = ", ".join(f"{what} {share(seconds / total_s)}" for what, seconds in others if seconds > 0.005 * total_s)
    return f"{share(measured[1] / total_s)} of {duration_text(total_s)} {measured[0]}; {named}"
