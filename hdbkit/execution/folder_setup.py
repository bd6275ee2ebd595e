"""Creates the folder of a new run: manifest, settings, empty control page and spool folder."""

from __future__ import annotations

import json
import os
import platform
import shutil
from importlib.metadata import version
from pathlib import Path

from hdbkit.arrivals import rate_of
from hdbkit.config.fault import Thing
from hdbkit.databases import database
from hdbkit.errors import InputError
from hdbkit.execution.control import Control
from hdbkit.execution.precheck import Ready
from hdbkit.files import private, read_bytes, replace_file
from hdbkit.processes import birth_of
from hdbkit.results.folder import RunFolder, make_folder
from hdbkit.results.manifest import Manifest, Phase, Status
from hdbkit.results.spool import arrow_types
from hdbkit.workloads import metric_of, workload
from hdbkit.workloads.present import notice_of

FAULTS = "faults.ndjson"
"""The file in the spool folder with a line for the beginning and the end of each fault."""
SERIALS = "serials.json"
"""The file in the spool folder with the last numbers that the schema gave (``Workload.serial``), for fault runs."""
_RESERVE_BYTES = 256 * 1024


def reserve_path(folder: RunFolder) -> Path:
    """Space reserved from the start, so that the end of a run can be recorded on a full disk."""
    return folder.spools / "reserve"


def note_in_charge(folder: RunFolder, pid: int) -> None:
    """Note the process that is to execute a run: the one that makes its folder, then its supervisor."""
    with open(_in_charge(folder), "w", encoding="ascii", opener=private) as file:
        file.write(f"{pid} {birth_of(pid)}")


def is_in_charge(folder: RunFolder) -> bool:
    """Whether the process that was noted last is alive."""
    try:
        pid, _, birth = read_bytes(_in_charge(folder)).decode("ascii").partition(" ")
        return bool(birth) and birth_of(int(pid)) == birth
    except (OSError, ValueError):
        return False


def _in_charge(folder: RunFolder) -> Path:
    return folder.spools / "in_charge"


def make_run_folder(ready: Ready, root: Path) -> RunFolder:
    """Create the folder of a new run. Raises ``InputError`` if that fails, and then leaves nothing."""
    folder = RunFolder(root / ready.plan.run_id)
    make_folder(folder.spools)
    try:
        _fill(folder, ready)
    except OSError as error:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise InputError(
            f"the folder {folder.path} cannot be filled ({error.strerror}); "
            "free space there, or set HDBKIT_RESULTS to another folder"
        ) from error
    return folder


def _client_path(ready: Ready) -> str:
    """The code path of the measured calls; a proxy for network faults is part of it."""
    proxied = any(fault.thing is Thing.NETWORK for fault in ready.plan.load.faults)
    return f"{ready.client_path} through the proxy of network faults" if proxied else ready.client_path


def _fill(folder: RunFolder, ready: Ready) -> None:
    plan, load = ready.plan, ready.plan.load
    note_in_charge(folder, os.getpid())
    with open(reserve_path(folder), "wb", opener=private) as file:
        os.posix_fallocate(file.fileno(), 0, _RESERVE_BYTES)
    replace_file(folder.settings, json.dumps(ready.settings, indent=1).encode())
    Control.create(folder.control, len(load.clients)).close()
    kind = workload(plan.workload)
    software = {"hdbkit": version("hdbkit"), "python": platform.python_version()}
    manifest = Manifest(
        run_id=plan.run_id,
        notice=notice_of(kind, database(plan.target)),
        status=Status.STARTING,
        plan=plan,
        operations=list(kind.operations),
        mix=kind.mix(load),
        rollback_shares=kind.rollback_shares(load),
        details=arrow_types(kind.details),
        metric=metric_of(kind, load),
        paced=load.paced,
        rate_per_s=rate_of(plan.workload, load),
        workload_title=kind.title,
        noun=kind.noun,
        scale=kind.scale,
        size=plan.workload.size,
        detail_charts=list(kind.detail_charts),
        lists=[(list(names), times) for names, times in kind.listed(load)],
        phases=[Phase(name=phase.name, measured=phase.measured) for phase in kind.phases(load)],
        tags=list(plan.tags),
        command=plan.command,
        software={**software, "driver": ready.driver, "client_path": _client_path(ready)},
        server=ready.server,
        network=ready.network,
        warnings=list(ready.warnings),
    )
    folder.write(manifest.moved_to(Status.STARTING))
