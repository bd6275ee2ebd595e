"""The folder of an experiment, ``experiments/<id>``: plan, journal, original settings, report.

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
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from hdbkit.config.problems import problems_of
from hdbkit.errors import DamagedResult, InputError
from hdbkit.files import held, irregular_entry, private, read_bytes, replace_file, sync_folder
from hdbkit.paths import Inside
from hdbkit.processes import birth_of
from hdbkit.results.folder import END_GRACE_S, make_folder, only_match, only_one
from hdbkit.results.journal import Journal, Step
from hdbkit.results.seal import drop_sealed, is_revoked, is_sealed, read_sealed, require_key, seal_of, write_sealed

_PLAN, _BEFORE = "plan", "settings before"
"""The kinds of sealed files."""
_Model = TypeVar("_Model", bound=BaseModel)


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

    def read_plan(self, model: type[_Model]) -> _Model:
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


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
