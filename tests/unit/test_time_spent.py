"""How the time of an experiment was spent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hdbkit.experiment.time_spent import time_spent_s, time_spent_text
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.results.journal import JournalLine, Step
from hdbkit.results.manifest import Event, Status
from tests.unit.synthetic import write_run

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STAGES = (Status.STARTING, Status.RAMPUP, Status.MEASURING, Status.FINISHING, Status.DONE)


def at(second: float) -> datetime:
    return BEGIN + timedelta(seconds=second)


@pytest.fixture
def folder(tmp_path: Path) -> ExperimentFolder:
    """Two runs at the same time, the second one 2 s later, and a pause of 100 s without a process."""
    for name, begin in (("run-1", 10), ("run-2", 12)):
        made = write_run(tmp_path / name)
        times = (begin, begin + 1, begin + 3, begin + 13, begin + 17)
        history = [Event(status=status, at=at(second)) for status, second in zip(STAGES, times, strict=True)]
        made.folder.write(made.manifest.model_copy(update={"history": history}))
    found = experiment_folder(tmp_path, "20260101-000000-compare-abc")
    lines = [(0, Step.STARTED, ""), (10, Step.RUN_STARTED, "run-1"), (27, Step.RUN_FINISHED, "run-1")]
    lines += [(12, Step.RUN_STARTED, "run-2"), (29, Step.RUN_FINISHED, "run-2"), (30, Step.STOPPED, "")]
    lines += [(130, Step.STARTED, ""), (131, Step.FINISHED, "")]
    text = "".join(
        f"{JournalLine(step=step, at=at(second), run_id=run_id, number=1 if run_id else None).text}\n"
        for second, step, run_id in sorted(lines)
    )
    found.path.mkdir(parents=True)
    (found.path / "journal.ndjson").write_text(text)
    return found


def test_a_moment_counts_once_and_a_pause_never(folder: ExperimentFolder) -> None:
    spent_s = time_spent_s(folder)
    assert spent_s == pytest.approx(
        {"measured": 12, "ramp-up": 2, "start of runs": 1, "end of runs": 4, "between runs": 12}
    )
    assert time_spent_text(spent_s) == (
        "38.7 % of 31 s measured; between runs 38.7 %, end of runs 12.9 %, ramp-up 6.5 %, start of runs 3.2 %"
    )


def test_a_run_that_cannot_be_read_is_between_runs(folder: ExperimentFolder) -> None:
    (folder.root / "run-1" / "manifest.json").write_text("{")
    (folder.root / "run-2" / "manifest.json").write_text("{")
    assert time_spent_s(folder)["between runs"] == pytest.approx(31)
