"""Starts Voila for a block, and waits until it listens."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from hdbkit.api import Workspace
from hdbkit.config import served
from hdbkit.errors import InputError, MissingDriver
from hdbkit.processes import command_of

OWN = "x-hdbkit-own"
"""The header that names the folder of a page's own workspace; without it the page has the service's workspace."""
BASE = "/panels/open/"
"""The path of Voila."""
_HERE = Path(__file__).parent
_START_S = 60.0
_LOOK_S = 0.1


@contextmanager
def running_panels(
    workspace: Workspace, clusters: Collection[str] = (), text_settings: Collection[str] = ()
) -> Iterator[Path]:
    """Run Voila for a block; the socket that it listens on. Its kernels end with it, and runs continue.

    Panels may use ``clusters`` and change ``text_settings``, and no others.

    Raises:
        InputError: it has not started.
        MissingDriver: the packages of the extra are not installed.
    """
    _require_packages()
    with tempfile.TemporaryDirectory(prefix="hdbkit-panels-") as folder:  # of mode 0700
        socket, errors = Path(folder) / "voila", Path(folder) / "errors.txt"
        arguments = [str(socket), BASE, str(_HERE / "panels.ipynb"), OWN]
        paths = [str(_HERE / "jupyter"), *filter(None, [os.environ.get("JUPYTER_PATH")])]
        with errors.open("wb") as log:
            process = subprocess.Popen(
                command_of("hdbkit.service.panels.voila", *arguments),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env={
                    **os.environ,
                    **workspace.environment,
                    **served.environment(clusters, text_settings),
                    "JUPYTER_PATH": os.pathsep.join(paths),
                },
            )
        try:
            _await(socket, process, errors)
            yield socket
        finally:
            process.terminate()
            process.wait()


def _await(socket: Path, process: subprocess.Popen[bytes], errors: Path) -> None:
    latest = time.monotonic() + _START_S
    while not socket.is_socket():
        if process.poll() is not None or time.monotonic() > latest:
            lines = errors.read_text(errors="replace").strip().splitlines()
            raise InputError(f"Voila has not started: {lines[-1] if lines else 'it wrote no error'}")
        time.sleep(_LOOK_S)


def _require_packages() -> None:
    for name in ("anywidget", "voila", "websockets"):  # found and not imported: Voila alone takes seconds
        if find_spec(name) is None:
            raise MissingDriver("hdbkit app", name, "app")
