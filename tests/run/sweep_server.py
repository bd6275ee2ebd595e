"""A server made of files, and runs on it, which survive killed processes.

Settings and data are files, so that a killed sweep leaves them in their last state. Every operation, and every write
to disk, passes ``Doom.step``, which can end the process there as ``kill -9`` does.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.config.metric import Metric
from hdbkit.contracts import CHANGED, ApplyBy, Change, Setting
from hdbkit.errors import ServerFailed
from hdbkit.plan import RunPlan
from hdbkit.readings import HostLoad
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Event, Manifest, Status
from tests.unit.synthetic import figures

DEFAULTS = {"flush": "on", "memory": "1GB", "untouched": "as it was"}
DATA = "the data as built"
RATIO = {"on": 1.0, "off": 2.0}


@dataclass
class Doom:
    """Kills this process at the step ``at``; 0 for never."""

    at: int = 0
    passed: int = 0

    def step(self) -> None:
        self.passed += 1
        if self.passed == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


class FileServer:
    """Settings and data of a server in a folder, behind the contract ``ServerControl``."""

    def __init__(self, folder: Path, doom: Doom | None = None, can_restore_data: bool = True) -> None:
        self.folder, self.doom, self.can_restore_data = folder, doom or Doom(), can_restore_data
        self.identity = f"files in {folder}"
        self.can_restart = self.keeps_settings = True
        self.loads: list[HostLoad] = []
        self.say: Callable[[str], None] = lambda _: None
        self.rejected: dict[str, str] = {}
        self.calls: list[str] = []
        if not folder.exists():
            folder.mkdir()
            self._write("settings", json.dumps(DEFAULTS))
            self._write("data", DATA)

    def now(self) -> dict[str, str]:
        return dict(json.loads((self.folder / "settings").read_text()))

    def data(self) -> str:
        return (self.folder / "data").read_text()

    def grow(self) -> None:
        self._write("data", self.data() + " and more")

    def settings(self) -> dict[str, Setting]:
        return {
            name: Setting(name, value, None, None, ApplyBy.RELOAD, kind="string" if name == "untouched" else "enum")
            for name, value in self.now().items()
        }

    def problems(self, changes: Mapping[str, Sequence[str]]) -> list[str]:
        unknown = [f"there is no setting '{name}'" for name in changes if name not in DEFAULTS]
        return unknown + [
            f"{name} cannot be {v!r}" for name, values in changes.items() for v in values if v == "impossible"
        ]

    def refused(self, configurations: Sequence[Mapping[str, str]]) -> list[str]:
        return []

    def start(self, before: Mapping[str, Any] | None = None) -> None:
        """It always runs."""

    def snapshot(self, changed: Collection[str] | None = None) -> dict[str, Any]:
        return {"settings": self.now(), CHANGED: list(changed or ())}

    def apply(self, changes: Mapping[str, str]) -> Change:
        self._did("apply")
        for name, value in changes.items():
            if self.rejected.get(name) == value:
                raise ServerFailed(f"the server did not start with {name} = {value}: not enough memory")
        self._write("settings", json.dumps({**self.now(), **changes}))
        return Change(ApplyBy.RELOAD, 0.0, dict(changes))

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        self._did("restore")
        self._write("settings", json.dumps(snapshot["settings"]))

    def keep_data(self) -> float:
        self._did("keep_data")
        self._write("kept", self.data())
        return 0.0

    def restore_data(self) -> float:
        self._did("restore_data")
        self._write("data", (self.folder / "kept").read_text())
        return 0.0

    def drop_kept_data(self) -> None:
        self._did("drop_kept_data")
        (self.folder / "kept").unlink(missing_ok=True)
        self.doom.step()

    def maintain(self) -> float:
        self._did("maintain")
        return 0.0

    def restart(self) -> float:
        self._did("restart")
        return 0.0

    def host_load(self) -> HostLoad | None:
        """The next of ``loads``; the last again and again."""
        self.doom.step()
        return self.loads.pop(0) if len(self.loads) > 1 else self.loads[0] if self.loads else None

    def _did(self, call: str) -> None:
        self.doom.step()
        self.calls.append(call)

    def _write(self, name: str, text: str) -> None:
        draft = self.folder / f".{name}"
        draft.write_text(text)
        draft.replace(self.folder / name)
        self.doom.step()


def only(server: Any) -> Callable[[Target], Any]:
    """The control of every target: this one."""
    return lambda _: server


def begun(plan: RunPlan) -> Manifest:
    """The manifest of a run that starts, in this process."""
    return Manifest(
        run_id=plan.run_id,
        notice="",
        status=Status.STARTING,
        history=[Event(status=Status.STARTING, at=datetime.now(UTC))],
        plan=plan,
        operations=[],
        metric=Metric(name="TPS", title="operations per second", unit="TPS"),
        supervisor_pid=os.getpid(),
    )


def measured(plan: RunPlan, root: Path) -> Manifest:
    """A run that is done at once."""
    folder = RunFolder(root / plan.run_id)
    folder.path.mkdir()
    done = begun(plan).model_copy(update={"result": figures(1000.0)}).moved_to(Status.DONE)
    folder.write(done)
    return done


def runner(server: FileServer, root: Path) -> Callable[[RunPlan], Manifest]:
    """Runs that check the state they were promised, and find the throughput that their settings give."""

    def run_one(plan: RunPlan) -> Manifest:
        assert plan.experiment is not None
        assert server.now() == {**DEFAULTS, **plan.experiment.settings}
        assert server.data() == DATA or not server.can_restore_data
        folder = RunFolder(root / plan.run_id)
        folder.path.mkdir()
        server.doom.step()
        manifest = begun(plan)
        folder.write(manifest)
        server.grow()
        metric_value = 1000.0 * RATIO[plan.experiment.settings["flush"]] + plan.experiment.number
        done = manifest.model_copy(update={"result": figures(metric_value)}).moved_to(Status.DONE)
        folder.write(done)
        server.doom.step()
        return done

    return run_one
