"""A separate JupyterLab, and a notebook in a real browser."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.architecture.source_tree import ROOT
from tests.kernel import FORK

POLLING_MS = 200
"""How often a page is asked; playwright asks at each frame otherwise, and so has a page drawn that rests."""
_CLOSED = "Disposed"
"""JupyterLab raises it where a notebook is closed while something of it is on its way."""


@dataclass
class Lab:
    """A running JupyterLab that serves ``root``; its settings, runtime files and home are in ``home``."""

    root: Path
    home: Path
    url: str
    token: str
    process: subprocess.Popen[bytes]

    @classmethod
    def start(
        cls,
        root: Path,
        home: Path,
        words: Sequence[str],
        messages: Mapping[str, Any] | None = None,
        cwd: Path | None = None,
    ) -> Lab:
        """Start one with these words, and wait until it answers; ``messages`` are the settings of its messages.

        Its kernels fork the programs of hdbkit.
        """
        if messages:
            path = home / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(messages))
        startup = home / "ipython" / "profile_default" / "startup"
        startup.mkdir(parents=True)
        (startup / "fork.py").write_text(FORK)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        token = secrets.token_hex(16)
        environment = {
            **os.environ,
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "IPYTHONDIR": str(home / "ipython"),
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTER_DATA_DIR": str(home / "data"),
            "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
            "JUPYTER_TOKEN": token,
            "HDBKIT_RESULTS": str(home / "results"),
        }
        place = ["--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
        with (home / "lab.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "jupyterlab", *words, "--no-browser", *place],
                env=environment, cwd=cwd or root, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        lab = cls(root, home, f"http://127.0.0.1:{port}", token, process)
        lab._await()
        return lab

    def _await(self) -> None:
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError((self.home / "lab.log").read_text()[-2000:])
            try:
                self.ask("api")
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise RuntimeError("JupyterLab does not answer")

    def read(self, path: str, method: str = "GET") -> str:
        """What the server answers."""
        request = urllib.request.Request(
            f"{self.url}/{path}", headers={"Authorization": f"token {self.token}"}, method=method
        )
        with urllib.request.urlopen(request, timeout=180) as answer:
            content: bytes = answer.read()
        return content.decode()

    def ask(self, path: str, method: str = "GET") -> Any:
        """An answer of the server's own interface."""
        content = self.read(path, method)
        return json.loads(content) if content else None

    def end_kernels(self) -> None:
        """Shut every kernel down."""
        for session in self.ask("api/sessions"):
            self.ask(f"api/sessions/{session['id']}", "DELETE")

    def stop(self) -> None:
        """End the server and its kernels, at once if the server takes longer than 30 s."""
        self.end_kernels()
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            for child in children:
                with suppress(psutil.NoSuchProcess):
                    child.kill()

    @property
    def results(self) -> Path:
        """Where the runs of its kernels land."""
        return self.home / "results"

    def with_parameters(self, name: str, text: str, parameters: dict[str, Any]) -> str:
        """A copy of a notebook whose cell of parameters has these values; its name."""
        notebook = json.loads(text)
        cell = next(one for one in notebook["cells"] if "parameters" in one["metadata"].get("tags", []))
        changed = [f"{key} = {value!r}" for key, value in parameters.items()]
        cell["source"] = "\n".join(["".join(cell["source"]), *changed])
        (self.root / name).write_text(json.dumps(notebook))
        return name

    def write(self, name: str, cells: Sequence[str]) -> Path:
        """A notebook of code cells."""
        empty = {"metadata": {}, "execution_count": None, "outputs": []}
        made = [{"cell_type": "code", "id": f"c{i}", "source": cell, **empty} for i, cell in enumerate(cells)]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        path = self.root / name
        path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": made}))
        return path


@dataclass
class Desk:
    """One page of a browser with JupyterLab, in which one notebook after the other is opened.

    A page is opened again only where a test needs that, as it takes 10 s of a processor. ``said`` are the console's
    errors since the last :meth:`clear`, without those of JupyterLab's requests to its own server, which fails some of
    them on a busy host; ``outside`` are all requests to other addresses.
    """

    lab: Lab
    context: Any
    page: Any = None
    name: str = ""
    said: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def load(self, path: str = "") -> None:
        """Open JupyterLab in a new page; a page that was open is closed as by its user."""
        if self.page is not None:
            self.page.close()
        self.page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", self._raised)
        self.page.on("request", self._asked)
        self.page.goto(f"{self.lab.url}/lab{path}?reset&token={self.lab.token}")
        self.page.wait_for_function("() => window.jupyterapp?.shell.currentWidget", polling=POLLING_MS)

    def open(self, name: str) -> None:
        """Open a notebook in the page that is there."""
        self.name = name
        self.command("docmanager:open", path=name)
        self.page.wait_for_selector(".jp-Notebook")

    def open_again(self) -> None:
        """Close the notebook's tab, and open the notebook in the same page."""
        self._close()
        self.open(self.name)

    def load_again(self) -> None:
        """Close the page, and open the notebook in another one."""
        self.load(f"/tree/{self.name}")
        self.page.wait_for_selector(".jp-Notebook")

    def clear(self) -> None:
        """Close every dialog and tab, unsaved, and end the kernels."""
        for dialog in self.page.locator(".jp-Dialog-close-button").all():
            dialog.click()
        self._close()
        self.lab.end_kernels()
        self.said.clear()

    def _close(self) -> None:
        """Close every tab; what changed since it was saved is lost without a question."""
        self.page.evaluate(
            """() => {
                for (const tab of [...window.jupyterapp.shell.widgets("main")]) {
                    if (tab.context) tab.context.model.dirty = false;
                    tab.close();
                }
            }"""
        )
        self.page.wait_for_selector(".jp-Notebook", state="detached")

    def _heard(self, message: Any) -> None:
        of_jupyter = message.location["url"].startswith(f"{self.lab.url}/api/")
        if message.type == "error" and not of_jupyter:
            self.said.append(message.text)

    def _raised(self, error: Any) -> None:
        if str(error) != _CLOSED:
            self.said.append(str(error))

    def _asked(self, request: Any) -> None:
        own = (self.lab.url, self.lab.url.replace("http", "ws"), "data:", "blob:")
        if not request.url.startswith(own):
            self.outside.append(request.url)

    def command(self, name: str, **arguments: Any) -> None:
        """Begin one of JupyterLab's commands; what it leads to is waited for, not the command."""
        begin = "([name, args]) => { window.jupyterapp.commands.execute(name, args) }"
        self.page.evaluate(begin, [name, arguments])

    def theme(self, name: str) -> None:
        """Change JupyterLab's theme, ``Light`` or ``Dark``, and wait until its splash screen has left.

        JupyterLab (4.6) removes the splash screen twice, the second time with an error, where the next change begins
        within the 200 ms in which it fades.
        """
        self.command("apputils:change-theme", theme=f"JupyterLab {name}")
        lit = "true" if name == "Light" else "false"
        self.page.wait_for_selector(f"[data-jp-theme-light={lit}]", state="attached")
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")

    def save(self, awaited: str = r"hdbkit-still\"><div class=\"hdbkit-card") -> None:
        """Save, and wait until the file holds what the page kept."""
        path, deadline = self.lab.root / self.name, time.monotonic() + 180
        while awaited not in path.read_text(encoding="utf-8"):
            assert time.monotonic() < deadline, f"{awaited!r} was never saved"
            self.command("docmanager:save")
            self.page.wait_for_timeout(300)

    def run_all(self) -> None:
        """Run every cell, once the notebook and its kernel are there."""
        self.page.wait_for_function(
            """() => {
                const shown = window.jupyterapp.shell.currentWidget;
                return shown?.context?.isReady && shown.sessionContext.isReady
                    && shown.sessionContext.session?.kernel?.status === "idle";
            }""",
            polling=POLLING_MS,
        )
        self.command("notebook:run-all-cells")
