"""Runs Voila for a block, which takes a while until it listens; the service does not wait for it."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from hdbkit.api import Workspace
from hdbkit.config import served
from hdbkit.errors import MissingDriver
from hdbkit.processes import command_of

PANELS_OWN = "x-hdbkit-own"
"""The header that names the folder of a page's own workspace; without it the page has the service's workspace."""
PANELS_PATH = "/panels/open/"
"""The path of Voila."""
_HERE = Path(__file__).parent
_LOOK_S = 0.2


class Panels:
    """Voila, which starts, listens, or has ended.

    Args:
        socket: what it listens on.
        errors: the file with what it wrote.
        process: its process.
    """

    def __init__(self, socket: Path, errors: Path, process: subprocess.Popen[bytes]) -> None:
        self.socket, self._errors, self._process = socket, errors, process

    @property
    def listens(self) -> bool:
        """Whether requests can be passed to it."""
        return self._process.poll() is None and self.socket.is_socket()

    @property
    def failure(self) -> str:
        """Why it will not listen, as a sentence; empty while it starts or runs."""
        code = self._process.poll()
        if code is None:
            return ""
        lines = self._errors.read_text(errors="replace").strip().splitlines()
        how = "has ended" if self.socket.exists() else "has not started"
        return f"Voila {how}: {lines[-1] if lines else f'it ended with the exit status {code}'}"

    def report(self, note: Callable[[str], None], closed: threading.Event) -> None:
        """Note that it starts, when it listens, and why it has ended; until the service is closed."""
        note("Voila starts, which serves the panels; the other pages are served meanwhile")
        listened = False
        while not closed.wait(_LOOK_S):
            if failure := self.failure:
                return note(f"{failure}; the other pages are still served, and a restart of the service tries again")
            if self.listens and not listened:
                listened = True
                note("the panels are ready")
        return None


@contextmanager
def running_panels(
    workspace: Workspace,
    clusters: Collection[str] = (),
    text_settings: Collection[str] = (),
    note: Callable[[str], None] = lambda _: None,
) -> Iterator[Panels]:
    """Run Voila for a block, without waiting until it listens. Its kernels end with it, and runs continue.

    Panels may use ``clusters`` and change ``text_settings``, and no others; ``note`` takes what becomes of it.

    Raises:
        MissingDriver: the packages of the extra are not installed.
    """
    _require_packages()
    with tempfile.TemporaryDirectory(prefix="hdbkit-panels-") as folder:  # of mode 0700
        socket, errors = Path(folder) / "voila", Path(folder) / "errors.txt"
        arguments = [str(socket), PANELS_PATH, str(_HERE / "panels.ipynb"), PANELS_OWN]
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
                    **served.served_environment(clusters, text_settings),
                    "JUPYTER_PATH": os.pathsep.join(paths),
                },
            )
        panels, closed = Panels(socket, errors, process), threading.Event()
        reporting = threading.Thread(target=panels.report, args=(note, closed), daemon=True)
        reporting.start()
        try:
            yield panels
        finally:
            closed.set()
            reporting.join()
            process.terminate()
            process.wait()


def _require_packages() -> None:
    for name in ("anywidget", "voila", "websockets"):  # found and not imported: Voila alone takes seconds
        if find_spec(name) is None:
            raise MissingDriver("hdbkit app", name, "app")
