"""Apache Derby, a server that speaks Db2's wire protocol, for tests. IBM's driver connects to no version after 10.7.

Its jars come with ``make tools`` into the folder ``derby`` of hdbkit's folder of the user's cache. It listens on
127.0.0.1 and has one account.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from pydantic import SecretStr

from hdbkit.config import Target
from hdbkit.databases import database
from hdbkit.errors import CannotConnect, InputError
from hdbkit.paths import cache_folder
from hdbkit.servers.place import free_port

KIND: Final = "db2"
_PASSWORD: Final = "only on 127.0.0.1"
_PROPERTIES: Final = f"""derby.locks.deadlockTimeout=1
derby.locks.waitTimeout=3
derby.system.durability=test
derby.connection.requireAuthentication=true
derby.authentication.provider=BUILTIN
derby.user.app={_PASSWORD}
"""
_DATABASE: Final = "CHECK"
_STARTED_S: Final = 60
_JAVA: Final = ("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-Djava.security.manager=allow")


def jars() -> str:
    """The class path; skips without Java or jars."""
    folder = cache_folder() / "derby"
    if shutil.which("java") is None or not list(folder.glob("derbynet-*.jar")):
        pytest.skip(f"no Java, or no jars of Apache Derby in {folder}")
    return f"{folder}/*"


@contextmanager
def derby() -> Iterator[Target]:
    """An empty database on a server of its own; skips without Java, jars or driver."""
    place = jars()
    try:
        database(KIND).driver_version()
    except InputError as error:
        pytest.skip(str(error))
    with tempfile.TemporaryDirectory(prefix="hdbkit-derby-") as folder:
        yield from _served(Path(folder), place)


def _served(folder: Path, place: str) -> Iterator[Target]:
    (folder / "derby.properties").write_text(_PROPERTIES, encoding="utf-8")
    java = [*_JAVA, f"-Dderby.system.home={folder}", "-cp", place]
    made = f"-Dij.connection.made=jdbc:derby:{_DATABASE};create=true;user=app;password={_PASSWORD}"
    subprocess.run([*java, made, "org.apache.derby.tools.ij"], input=b"exit;", check=True, capture_output=True)
    port = free_port()
    at = ["-h", "127.0.0.1", "-p", str(port), "-noSecurityManager"]
    start = ["org.apache.derby.drda.NetworkServerControl", "start", *at]
    with (folder / "log").open("wb") as log, subprocess.Popen([*java, *start], stdout=log, stderr=log) as server:
        try:
            target = Target(
                kind=KIND,
                host="127.0.0.1",
                port=port,
                database=_DATABASE,
                user="app",
                password=SecretStr(_PASSWORD),
                options={"authentication": "SERVER"},
            )
            _wait_for(target)
            yield target
        finally:
            server.terminate()


def _wait_for(target: Target) -> None:
    """Wait until it answers."""
    end = time.monotonic() + _STARTED_S
    while True:
        try:
            database(target).connect(target).close()
        except CannotConnect:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return


start = derby
"""The server of the conformance suite, since hdbkit has no private servers of this kind."""
WHY_LONG: Final = "the suite takes minutes on Apache Derby"
