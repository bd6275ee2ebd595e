"""Babelfish for PostgreSQL, a server that speaks the protocol and the language of SQL Server, for tests.

``HDBKIT_BABELFISH`` names the folder of an unpacked build, or it is ``babelfish`` in hdbkit's folder of the
user's cache. It listens on 127.0.0.1 without TLS.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import pytest
from pydantic import SecretStr

from hdbkit.config import Target
from hdbkit.databases import sql_session
from hdbkit.errors import InputError
from hdbkit.paths import cache_folder
from hdbkit.servers.place import free_port

KIND: Final = "sqlserver"
NAMED: Final = "HDBKIT_BABELFISH"
_DATABASE: Final = "conformance"
_PASSWORD: Final = "only on 127.0.0.1"
_SETTINGS: Final = "fsync = off\nfull_page_writes = off\nsynchronous_commit = off\ndeadlock_timeout = 100ms"


def folder() -> Path:
    """The folder of the build; skips without one."""
    named = os.environ.get(NAMED)
    found = Path(named) if named else cache_folder() / "babelfish"
    if not (found / "start.sh").is_file():
        pytest.skip(f"no Babelfish: {found} has no build of it; {NAMED} names the folder of one")
    return found.resolve()


@dataclass(frozen=True)
class Babelfish:
    """A running server, and the database that was made in it."""

    target: Target
    build: Path
    data: Path
    port: int
    postgres_port: int

    @property
    def commands(self) -> dict[str, list[str]]:
        """The commands that stop and start it, as ``control`` of a target."""
        ports = f"BABELFISH_PG_PORT={self.postgres_port}"
        start = ["env", ports, str(self.build / "start.sh"), str(self.data), str(self.port)]
        return {"start": start, "stop": [str(self.build / "stop.sh"), str(self.data), "fast"]}

    def start(self) -> None:
        subprocess.run(self.commands["start"], check=True, capture_output=True)

    def kill(self) -> None:
        """Kill its main process; the others end by themselves."""
        main = psutil.Process(int((self.data / "pg" / "postmaster.pid").read_text().split()[0]))
        others = main.children(recursive=True)
        main.kill()
        psutil.wait_procs([main, *others], timeout=30)


@contextmanager
def babelfish() -> Iterator[Target]:
    """An empty database on a server of its own; skips without a build, or without an ODBC driver for it."""
    with babelfish_server(_SETTINGS) as server:
        yield server.target


@contextmanager
def babelfish_server(settings: str) -> Iterator[Babelfish]:
    """A server with further settings of PostgreSQL, and an empty database on it; skips like ``babelfish``."""
    build, data = folder(), Path(tempfile.mkdtemp(prefix="hdbkit-babelfish-", dir="/var/tmp"))
    port, postgres_port = free_port(), free_port()
    given = {**os.environ, "BABELFISH_PASSWORD": _PASSWORD, "BABELFISH_SETTINGS": settings}
    given["BABELFISH_PG_PORT"] = str(postgres_port)
    try:
        subprocess.run([build / "start.sh", data, str(port)], env=given, check=True, capture_output=True)
        try:
            yield Babelfish(_with_database(port), build, data, port, postgres_port)
        finally:
            subprocess.run([build / "stop.sh", data, "immediate"], check=True, capture_output=True)
    finally:
        shutil.rmtree(data)


def _with_database(port: int) -> Target:
    at, account = {"host": "127.0.0.1", "port": port}, {"user": "sa", "password": SecretStr(_PASSWORD)}
    target = Target.model_validate(
        {"kind": KIND, **at, **account, "database": "master", "options": {"encrypt": "no"}}
    )
    try:
        with closing(sql_session(target)) as session:
            session.query("create_database", database=_DATABASE)
    except InputError as error:
        pytest.skip(str(error))
    return target.with_(database=_DATABASE)


start = babelfish
"""The server of the conformance suite, since hdbkit has no private servers of this kind."""
WHY_LONG: Final = ""
