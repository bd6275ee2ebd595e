"""The folder of an experiment, ``experiments/<id>``: plan, journal, original settings, report; its runs as a frame.

The journal allows an experiment to be killed at any time: every step is on disk (fsync) before the next one starts,
and the settings of its servers are saved before the first change. A crash can only truncate the last line, which is
then ignored.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import pandas as pd
from pydantic import BaseModel, Field, ValidationError, model_validator

from hdbkit.config.problems import problems_of
from hdbkit.errors import DamagedResult, InputError
from hdbkit.files import held, irregular_entry, private, read_bytes, replace_file, sync_folder
from hdbkit.paths import Inside
from hdbkit.processes import birth_of
from hdbkit.results.folder import END_GRACE_S, RunFolder, is_run, make_folder, only_match, only_one
from hdbkit.results.journal import CHECKS_FAILED, METRIC_VALUE, PER_S, SLICES, Journal, JournalLine, Step
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import RunResult, SlicesConfiguration
from hdbkit.results.seal import drop_sealed, is_revoked, is_sealed, read_sealed, require_key, seal_of, write_sealed

RUN_COLUMNS = (
    *("number", "block", "configuration", "virtual_users"),
    *("run_id", "status", "metric_value", "operations_per_s", "note", "checks_failed", "fresh"),
)
"""The columns of a runs frame that are not settings."""
STRETCH = "stretch"
"""A further column where a run has several rows of each configuration (``analysis.sweep.observations``)."""
ENDED_EARLY = "ended early"
"""The status of a run that a search ended early; only the search uses its result."""
_PLAN, _BEFORE = "plan", "settings before"
"""The kinds of sealed files."""
Plan = TypeVar("Plan", bound=BaseModel)


@dataclass(frozen=True)
class ExperimentFolder:
    """The folder of one experiment. Its runs are in the folder of all runs."""

    path: Path
    report = Inside("report.html")
    """The one-page report."""
    before = Inside("before.json")
    """The snapshots for restoring the servers' settings, until they are restored; only their owner may read."""
    _plan = Inside("plan.json")
    _seal = Inside("plan.seal")

    @property
    def experiment_id(self) -> str:
        """The experiment's id, which is the folder's name."""
        return self.path.name

    @property
    def root(self) -> Path:
        """The folder of all results."""
        return self.path.parent.parent

    @property
    def kind(self) -> str:
        """The kind of its plan; ``sweep`` as well if the plan cannot be read."""
        with suppress(DamagedResult):
            return self.read_plan(_Kind).kind
        return _Kind().kind

    @cached_property
    def journal(self) -> Journal:
        """The journal; each access reads only new lines."""
        return Journal(self.path / "journal.ndjson")

    @property
    def planned(self) -> bool:
        """Whether the experiment exists, that is, whether its plan is on disk."""
        return self._plan.is_file()

    @property
    def is_own(self) -> bool:
        """Whether this account wrote the plan, and the snapshot if there is one, or has accepted them.

        Those of any other experiment are not used unless the user names its target: they contain commands, files
        and addresses. Raises ``InputError`` if the account's key cannot be read.
        """
        with suppress(OSError, DamagedResult):
            return self._before_is_own() and _digest(read_bytes(self._plan)) in self._own_plans()
        return False

    @property
    def is_stale_copy(self) -> bool:
        """Whether this account has restored the settings already, from the folder of which this is a copy."""
        return is_revoked(self.before)

    def write_plan(self, plan: BaseModel) -> None:
        """Write the plan and its seal, replacing an earlier one atomically; a new experiment leaves all or nothing.

        The seal is written first and has the earlier plans as well, so that it fits at any time. Raises
        ``InputError`` if the account cannot seal, or the folder cannot be written.
        """
        require_key()
        try:
            self._write_plan(plan)
        except OSError as error:
            if not self.planned:
                shutil.rmtree(self.path, ignore_errors=True)
            raise InputError(
                f"the folder {self.path} cannot be filled ({error.strerror}); "
                "free space there, or set HDBKIT_RESULTS to another folder"
            ) from error

    def _write_plan(self, plan: BaseModel) -> None:
        text = plan.model_dump_json(indent=1).encode()
        make_folder(self.path, exist_ok=True)
        write_sealed(
            self._seal, _PLAN, {"experiment": self.experiment_id, "plans": [*self._own_plans(), _digest(text)]}
        )
        replace_file(self._plan, text)
        sync_folder(self.path)

    def _own_plans(self) -> list[str]:
        """The digests of the plans that this account wrote for this experiment."""
        with suppress(FileNotFoundError, DamagedResult):
            content, own = read_sealed(self._seal, _PLAN)
            if own and content.get("experiment") == self.experiment_id:
                return list(content.get("plans", ()))
        return []

    def read_plan(self, model: type[Plan]) -> Plan:
        """The plan as a ``model``, read again only if the file has changed.

        Raises ``DamagedResult`` if it is missing or damaged.
        """
        path = self._plan
        try:
            found = path.stat()
            signature = (found.st_ino, found.st_mtime_ns, found.st_size)
            known, plan = self._plans.get(model, (None, None))
            if known != signature or not isinstance(plan, model):
                plan = model.model_validate_json(read_bytes(path))
                self._plans[model] = (signature, plan)
            return plan
        except FileNotFoundError:
            raise DamagedResult(f"{self.path} is not the folder of an experiment: it has no plan.json") from None
        except ValidationError as error:
            first = problems_of(error, model)[0]
            raise DamagedResult(f"{path} is damaged: {first.where}: {first.what}") from None
        except OSError as error:
            raise DamagedResult(f"{path} cannot be read: {error.strerror}") from None

    @cached_property
    def _plans(self) -> dict[type[BaseModel], tuple[tuple[int, int, int], BaseModel]]:
        return {}

    def append(self, step: Step, number: int | None = None, run_id: str = "", note: str = "", **details: Any) -> None:
        """Append a line to the journal; it is on disk when this returns."""
        self.journal.append(step, number, run_id, note, details)

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Lock the experiment while a process for it is started, so that a second one sees the first."""
        with held(self.path):
            yield

    @contextmanager
    def executing(self) -> Iterator[None]:
        """Lock the experiment for the process that executes it, as long as it does. Raises ``InputError``."""
        otherwise = f"{self.experiment_id} is being executed; watch it with: hdbkit attach {self.experiment_id}"
        if not self.journal.lines:  # also where it cannot be read, which is an error then
            open(self.path / "journal.ndjson", "ab", opener=private).close()  # the file that is locked
        with held(self.path / "journal.ndjson", otherwise, END_GRACE_S):
            if self.journal.state.executed_by not in (None, os.getpid()):
                raise InputError(otherwise)
            yield

    def note_started(self, pid: int) -> None:
        """Record which process executes the experiment, unless already recorded."""
        if self.journal.state.executed_by != pid:
            process: dict[str, Any] = {"pid": pid, "birth": birth_of(pid)}
            self.append(Step.STARTED, **process, seal=seal_of({"experiment": self.experiment_id, **process}))

    @property
    def own_process(self) -> int | None:
        """The process that executes the experiment, for a signal; None if it has ended.

        Raises ``InputError`` if this account did not note it: the journal of another one may name any process.
        """
        state = self.journal.state
        if state.executed_by is None or state.started is None:
            return None
        noted = {name: state.started.details.get(name) for name in ("pid", "birth")}
        if not is_sealed({"experiment": self.experiment_id, **noted}, state.started.details.get("seal")):
            raise InputError(f"{self.experiment_id} is not stopped: this account did not write its files")
        return state.executed_by

    def save_before(
        self,
        identity: str,
        snapshot: dict[str, Any],
        found: Mapping[str, str] = MappingProxyType({}),
        targets: Sequence[int] = (0,),
    ) -> None:
        """Save the settings of the server ``identity`` to disk, before the first change.

        Args:
            identity: the server.
            snapshot: its settings.
            found: the original values of the settings that vary; only for readers of the journal.
            targets: the positions of its targets in the plan.
        """
        others = self._snapshots() if not self._saved and self.before.exists() and self._before_is_own() else {}
        self._write_before({**others, **self._saved, identity: snapshot})
        self.append(Step.SETTINGS_SAVED, identity=identity, found=dict(found), targets=list(targets))

    def read_before(self, identity: str) -> dict[str, Any]:
        """The snapshot of a server in ``before.json``; what this process has saved is read from memory.

        Raises ``DamagedResult``, also if it was not saved by this account for this experiment and server.
        """
        if identity in self._saved:
            return self._saved[identity]
        if not self._before_is_own():
            raise DamagedResult(f"{self.before} was not written by this account, so the settings are not restored")
        return self._snapshots().get(identity, {})

    def accept(self, plan: BaseModel) -> None:
        """Make the experiment of another account this account's own, with this plan and its snapshots as they are.

        Raises ``DamagedResult`` and ``InputError``.
        """
        if self.journal.settings_state.changed:
            self._write_before(self._snapshots())
        self.write_plan(plan)

    def _write_before(self, snapshots: dict[str, dict[str, Any]]) -> None:
        content = {"experiment": self.experiment_id, "snapshots": snapshots}
        write_sealed(self.before, _BEFORE, content, revocable=True)
        sync_folder(self.path)
        self._saved.update(snapshots)

    @cached_property
    def _saved(self) -> dict[str, dict[str, Any]]:
        """What this process has saved, by server: its restoration must not depend on files that others remove."""
        return {}

    def _snapshots(self) -> dict[str, dict[str, Any]]:
        try:
            return {name: dict(one) for name, one in read_sealed(self.before, _BEFORE)[0]["snapshots"].items()}
        except (OSError, DamagedResult, KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedResult(f"{self.before} cannot be read, so the settings are not restored: {error}") from None

    def _before_is_own(self) -> bool:
        """Whether this account saved the snapshots of this experiment; also if there are none and none are needed."""
        changed = {name for name, one in self.journal.settings_state.servers.items() if one.changed}
        try:
            content, own = read_sealed(self.before, _BEFORE)
        except FileNotFoundError:
            return not changed
        snapshots = content.get("snapshots")
        known = isinstance(snapshots, dict) and changed <= snapshots.keys()
        return own and known and content.get("experiment") == self.experiment_id

    def drop_before(self, identity: str | None = None) -> None:
        """Remove the snapshot of restored settings, by default of all: a server's files in it may hold passwords."""
        others: dict[str, dict[str, Any]] = {}
        if identity is not None:
            with suppress(DamagedResult):
                others = {name: one for name, one in (self._saved or self._snapshots()).items() if name != identity}
        self._saved.clear()
        if others:
            self._write_before(others)
        else:
            drop_sealed(self.before)


def experiment_folder(root: Path, experiment_id: str) -> ExperimentFolder:
    """The folder of an experiment below the folder of all results; it may not exist."""
    return ExperimentFolder(root / "experiments" / experiment_id)


def experiment_folders(root: Path, kind: str = "") -> Iterator[ExperimentFolder]:
    """All experiments of a kind, or of any, newest first; without folders that have links or special files."""
    for path in sorted((root / "experiments").glob("*/plan.json"), reverse=True):
        folder = ExperimentFolder(path.parent)
        if irregular_entry(path.parent) is None and (not kind or folder.kind == kind):
            yield folder


def find_experiment(root: Path, experiment_id: str, kind: str = "") -> ExperimentFolder:
    """The experiment of a kind, or of any, with this id or unique part of an id; ``last`` is the newest.

    Raises ``InputError`` if there is none, or more than one.
    """
    ids = [one.experiment_id for one in experiment_folders(root, kind)]
    return experiment_folder(root, only_match(ids, experiment_id, kind or "experiment", str(root / "experiments")))


@contextmanager
def only_experiment(root: Path, identity: str) -> Iterator[None]:
    """Lock the server ``identity`` for one experiment; the lock ends with the process.

    Raises ``InputError`` while another experiment of the same results folder holds the lock.
    """
    with only_one(root, identity, f"another experiment is running on {identity}; wait until it ends, or stop it"):
        yield


class _Kind(BaseModel):
    kind: str = "sweep"


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
    return _Outcome("done", line.run_id, value, per_s, checks_failed=failed, slices=facts.get(SLICES))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


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
        facts[SLICES] = {str(one.configuration): _measured(one) for one in manifest.result.slices.configurations}
    return facts


def _measured(found: RunResult | SlicesConfiguration | None) -> dict[str, Any]:
    return {name: getattr(found, name, None) for name in (METRIC_VALUE, PER_S)}


def unrestored(root: Path, identity: str) -> list[ExperimentFolder]:
    """This account's experiments that changed the server ``identity`` and did not restore it, newest first.

    Raises ``InputError`` if the account's key cannot be read.
    """
    found = []
    for folder in experiment_folders(root):
        with suppress(DamagedResult):
            state = folder.journal.settings_state
            if state.server(identity).changed and folder.is_own:
                found.append(folder)
    return found


def drop_restored(root: Path) -> None:
    """Remove the snapshots of servers that are restored: a process may have been killed before it removed them."""
    for folder in experiment_folders(root):
        with suppress(DamagedResult, InputError):
            restored = folder.before.is_file() and not folder.journal.settings_state.changed
            if restored and folder.is_own and folder.journal.state.executed_by is None:
                folder.drop_before()


def unverified(root: Path, identity: str | None = None) -> Iterator[tuple[ExperimentFolder, str]]:
    """The experiments that may have left settings on the server ``identity``, or on any, newest first, each with why.

    Their journal cannot be read, or their files are not this account's, as in a folder from elsewhere: what these
    would restore is not used.
    """
    for folder in experiment_folders(root):
        try:
            state = folder.journal.settings_state
            changed = state.changed if identity is None else state.server(identity).changed
            if not changed or folder.journal.state.executed_by:
                continue
            own = folder.is_own
        except (DamagedResult, InputError) as error:  # also a key that cannot be read
            yield folder, str(error)
        else:
            if not own and not folder.is_stale_copy:
                yield folder, f"this account did not write the files in {folder.path}"
