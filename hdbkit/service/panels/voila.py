"""The process of Voila, on a Unix socket; started by ``process``. It ends with the service."""

from __future__ import annotations

import os
import sys
from typing import Any

import tornado.ioloop
import tornado.web
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_unix_socket
from traitlets.config import Config
from voila.app import Voila

from hdbkit.processes import die_with_parent

MAX_PAGES = 20
"""Pages that may be open at once: each has a kernel."""
_ANSWER_S = 600
"""How long a page waits for what its kernel shows; by default 4 s, after which it stays empty on a busy host."""
_IDLE_S = 900
"""A kernel that no page has been connected to for so long ends."""


class _OnSocket(Voila):  # type: ignore[misc]  # the package has no types
    """Voila that listens on a socket of the file system."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address

    def listen(self) -> None:
        """Listen, and serve until a signal."""
        HTTPServer(self.app).add_socket(bind_unix_socket(self._address))
        self.ioloop = tornado.ioloop.IOLoop.current()
        try:
            self.ioloop.start()
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()


def _require_place(request: Any, **_: Any) -> None:
    """Start no kernel beyond ``MAX_PAGES``."""
    if len(request.kernel_manager) >= MAX_PAGES:
        raise tornado.web.HTTPError(503, reason=f"{MAX_PAGES} pages with panels are open, the maximum")


def main() -> None:
    """Entry point: ``python ... SOCKET BASE_URL NOTEBOOK HEADER``."""
    address, base_url, notebook, header = sys.argv[1:]
    die_with_parent(os.getppid())
    options = {
        "Voila.base_url": base_url,
        "Voila.config_file_paths": [],  # nobody's settings of Jupyter
        "Voila.log_level": "WARN",
        "Voila.open_browser": False,
        "VoilaConfiguration.template": "hdbkit",
        "VoilaConfiguration.allow_template_override": "NO",
        "VoilaConfiguration.file_allowlist": [],
        "VoilaConfiguration.http_header_envs": [header],
        "VoilaConfiguration.prelaunch_hook": _require_place,
        "VoilaExecutor.iopub_timeout": _ANSWER_S,
        "AsyncMappingKernelManager.cull_idle_timeout": _IDLE_S,
        "AsyncMappingKernelManager.cull_interval": 60,
        "KernelManager.transport": "ipc",  # sockets in a folder of this account: any account reads a port's messages
    }
    app = _OnSocket(address)
    config = Config()
    for name, value in options.items():
        owner, _, trait = name.partition(".")
        config[owner][trait] = value
    app.update_config(config)
    app.initialize([notebook])
    app.start()
