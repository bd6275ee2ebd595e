"""A new run's folder: the manifest, the settings, an empty control page and the place of the spools."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path

from hdbkit.errors import InputError
from hdbkit.execution.control import Control
from hdbkit.execution.precheck import Ready
from hdbkit.results.folder import RunFolder, replace_file
from hdbkit.results.manifest import Manifest, Status
from hdbkit.workloads import workload


def make_folder(ready: Ready, root: Path) -> RunFolder:
    """The folder of a run that is about to start. Raises ``InputError`` where it cannot be made."""
    plan = ready.plan
    folder = RunFolder(root / plan.run_id)
    try:
        folder.spools.mkdir(parents=True)
    except OSError as error:
        raise InputError(
            f"the run's folder {folder.path} cannot be made ({error.strerror}); "
            "set HDBKIT_RESULTS to a folder that can be written"
        ) from None
    replace_file(folder.settings, json.dumps(ready.settings, indent=1).encode())
    Control.create(folder.control, plan.load.virtual_users).close()
    kind = workload(plan.workload.kind)
    manifest = Manifest(
        run_id=plan.run_id,
        notice=kind.notice,
        status=Status.STARTING,
        plan=plan.model_dump(mode="json"),
        transactions=list(kind.transactions),
        counted=kind.counted,
        command=plan.command,
        software={"hdbkit": version("hdbkit"), "python": platform.python_version(), "driver": ready.driver},
        server=ready.server,
    )
    folder.write(manifest.moved_to(Status.STARTING))
    return folder
