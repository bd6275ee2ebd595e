"""The runs of an experiment as a frame: a row per planned run, with its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, model_validator

from hdbkit.errors import DamagedResult
from hdbkit.later import pandas as pd
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.folder import RunFolder, is_run
from hdbkit.results.journal import CHECKS_FAILED, METRIC_VALUE, PER_S, SLICES_FACTOR, JournalLine, Step
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import RunResult, SlicesConfiguration

RUN_COLUMNS = (
    *("number", "block", "configuration", "virtual_users"),
    *("run_id", "status", "metric_value", "operations_per_s", "note", "checks_failed", "fresh"),
)
"""The columns of a runs frame that are not settings."""
STRETCH = "stretch"
"""A further column where a run has several rows of each configuration (``analysis.sweep.observations``)."""
ENDED_EARLY = "ended early"
"""The status of a run that a search ended early; only the search uses its result."""


class _Slices(BaseModel):
    configurations: tuple[int, ...]


class _Planned(BaseModel):
    number: int
    block: int
    configuration: int
    virtual_users: int
    fresh: bool = False


class _Grid(BaseModel):
    """The parts of a plan that the frame needs."""

    configurations: tuple[dict[str, str], ...] = Field(min_length=1)
    runs: tuple[_Planned, ...]
    slices: _Slices | None = None

    @model_validator(mode="after")
    def _known(self) -> _Grid:
        for planned in self.rows:
            if not 0 <= planned.configuration < len(self.configurations):
                raise ValueError(f"run {planned.number} is of the unknown configuration {planned.configuration}")
        return self

    @property
    def rows(self) -> list[_Planned]:
        """A row per run, or per run and configuration that alternates in it."""
        if self.slices is None:
            return list(self.runs)
        return [
            run.model_copy(update={"configuration": one}) for run in self.runs for one in self.slices.configurations
        ]


def runs_frame(folder: ExperimentFolder) -> pd.DataFrame:
    """The planned runs of an experiment in order, one row each, with their outcome.

    Where all configurations alternate within each run, a row per run and configuration, with the values of the
    configuration's slices. :func:`each_run` then gives a row per run.

    ``status`` is ``planned``, ``running``, ``done``, ``ended early``, ``failed`` or ``missing`` (its folder was
    removed). ``metric_value`` is NaN unless the run is done or ended early; it is then that of the shorter window;
    so is ``operations_per_s``, of all types.
    ``note`` is the reason why a run failed or ended early; ``checks_failed`` is a tuple of the names of the checks
    that failed in a run that is done. One more column for each setting.

    Raises ``DamagedResult`` if the plan is missing or damaged.
    """
    state = folder.journal.state
    plan = folder.read_plan(_Grid)  # after the journal, so that the plan has every run of the journal
    rows = plan.rows
    columns: dict[str, list[Any]] = {name: [getattr(run, name) for run in rows] for name in _Planned.model_fields}
    outcomes = {run.number: _outcome(folder.root, state.runs.get(run.number)) for run in plan.runs}
    of_rows = [outcomes[run.number] for run in rows]
    if plan.slices:
        of_rows = [_of_slices(one, run.configuration) for one, run in zip(of_rows, rows, strict=True)]
    columns |= {name: [getattr(outcome, name) for outcome in of_rows] for name in _Outcome._fields}
    settings = [plan.configurations[run.configuration] for run in rows]
    names = list(plan.configurations[0])
    columns |= {name: [one.get(name) for one in settings] for name in names}
    return pd.DataFrame(columns, columns=[*RUN_COLUMNS, *names])


def each_run(runs: pd.DataFrame) -> pd.DataFrame:
    """A row per run of a runs frame, also where configurations alternate within runs."""
    return runs.drop_duplicates("number")


class _Outcome(NamedTuple):
    """The outcome of a planned run: the columns of a runs frame that are not in the plan."""

    status: str
    run_id: str = ""
    metric_value: float = float("nan")
    operations_per_s: float = float("nan")
    note: str = ""
    checks_failed: tuple[str, ...] = ()
    slices: Mapping[str, Mapping[str, Any]] | None = None
    """The facts of each configuration, by its number, where configurations alternate within the run."""


def _of_slices(outcome: _Outcome, configuration: int) -> _Outcome:
    """The outcome of one of the configurations that alternate within a run."""
    facts = (outcome.slices or {}).get(str(configuration), {})
    return outcome._replace(metric_value=_number(facts.get(METRIC_VALUE)), operations_per_s=_number(facts.get(PER_S)))


def _outcome(root: Path, line: JournalLine | None) -> _Outcome:
    if line is None:
        return _Outcome("planned")
    if line.step is Step.RUN_STARTED:
        return _Outcome("running", line.run_id)
    if line.step is Step.RUN_FAILED:
        return _Outcome("failed", line.run_id, note=line.note)
    try:
        facts = _facts(root, line)
    except DamagedResult as error:
        return _Outcome("missing", line.run_id, note=str(error))
    value, per_s = (_number(facts.get(name)) for name in (METRIC_VALUE, PER_S))
    if line.step is Step.RUN_ENDED_EARLY:
        return _Outcome(ENDED_EARLY, line.run_id, value, per_s, line.note)
    failed = tuple(facts.get(CHECKS_FAILED, ()))
    return _Outcome("done", line.run_id, value, per_s, checks_failed=failed, slices=facts.get(SLICES_FACTOR))


def _number(fact: Any) -> float:
    return float("nan") if fact is None else float(fact)


def _facts(root: Path, line: JournalLine) -> Mapping[str, Any]:
    """The facts of an ended run: from the journal, or from the manifest if an older journal lacks them.

    Raises ``DamagedResult`` if the run no longer exists.
    """
    if METRIC_VALUE in line.details and is_run(root, line.run_id):
        return line.details
    return run_facts(RunFolder(root / line.run_id).read())


def run_facts(manifest: Manifest) -> dict[str, Any]:
    """The facts of an ended run that the journal stores, so that a runs frame does not read manifests."""
    failed = [check.name for check in manifest.checks if check.passed is False]
    facts = {**_measured(manifest.result), CHECKS_FAILED: failed}
    if manifest.result and manifest.result.slices:
        facts[SLICES_FACTOR] = {
            str(one.configuration): _measured(one) for one in manifest.result.slices.configurations
        }
    return facts


def _measured(found: RunResult | SlicesConfiguration | None) -> dict[str, Any]:
    return {name: getattr(found, name, None) for name in (METRIC_VALUE, PER_S)}
