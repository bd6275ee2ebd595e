"""Private servers with one warehouse of TPROC-C: built once in all tests, also those of other workers, then copied.

A build takes five seconds of a processor; a copy of the server's data folder takes a tenth of that. The copy has the
passwords of the first server and a port and settings of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from hdbkit.config import TprocCSpec
from hdbkit.files import held
from hdbkit.loading import build
from hdbkit.servers import PrivateServer, find_binaries, private_server

_KIND = "postgresql"


@contextmanager
def built_server(
    factory: pytest.TempPathFactory, settings: Mapping[str, str], folder: Path | None = None
) -> Iterator[PrivateServer]:
    """A private server of its own with these settings and one warehouse; the test is skipped where there is none."""
    if not any(one.kind == _KIND for one in find_binaries()):
        pytest.skip("no PostgreSQL binaries here; see: hdbkit doctor")
    with private_server(_KIND, settings=settings, folder=folder) as server:
        _fill(server, _of_all_workers(factory))
        yield server


def _of_all_workers(factory: pytest.TempPathFactory) -> Path:
    """The folder that all workers of these tests share."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def _fill(server: PrivateServer, shared: Path) -> None:
    kept = shared / "warehouse"
    with held(shared):
        if kept.is_dir():
            _take(server, kept)
        else:
            build(server.target, TprocCSpec(warehouses=1))
            _keep(server, kept)


def _keep(server: PrivateServer, kept: Path) -> None:
    unfinished = kept.with_name("warehouse-unfinished")
    unfinished.mkdir(mode=0o700)
    server.stop()
    _copy(server.place.data, unfinished / "data")
    _copy(server.place.password_file, unfinished / "passwords")
    unfinished.rename(kept)
    server.start()


def _take(server: PrivateServer, kept: Path) -> None:
    """Replace the data and passwords of a new server, not its configuration."""
    server.stop()
    data = server.place.data
    configuration = (data / "postgresql.conf").read_bytes()
    shutil.rmtree(data)
    _copy(kept / "data", data)
    (data / "postgresql.conf").write_bytes(configuration)
    _copy(kept / "passwords", server.place.password_file)
    server.start()


def _copy(source: Path, place: Path) -> None:
    """With owners and modes, as the server's account demands."""
    subprocess.run(["cp", "-a", "--reflink=auto", "-T", source, place], check=True)
