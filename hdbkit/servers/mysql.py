"""MySQL as a private server: any ``mysqld`` of the host; no other program of MySQL is needed."""

from __future__ import annotations

from pathlib import Path

from hdbkit.errors import ServerFailed
from hdbkit.paths import cache_folder
from hdbkit.servers._mysqld import MysqldServer, candidates, complaints
from hdbkit.servers.binaries import chosen, installed, told_version
from hdbkit.servers.place import Binaries, Place


class MysqlServer(MysqldServer):
    """The engine of ``servers/`` for MySQL."""

    kind = "mysql"
    order = 3
    dialects = ("mysql",)
    program = "mysqld"
    special = {"mysqlx": "0"}  # noqa: RUF012  as in the protocol

    def find(self) -> list[Binaries]:
        """Those of the folder that a variable names, of hdbkit's cache, of PATH, of the system's folders."""
        cached = sorted(cache_folder().glob("mysql-*/bin"), reverse=True)
        return installed(self.kind, candidates(self.program, *((folder, "cache") for folder in cached)), _version)

    def choose(self, version: str | None, source: str | None) -> Binaries:
        """``version`` such as "8.0"; ``source`` is installed, cache, named or a folder of binaries."""
        advice = "install MySQL's server, or name the folder of its mysqld in HDBKIT_MYSQLD"
        return chosen(self.kind, "MySQL", self.find(), version, source, _version, advice)

    def make_data(self, place: Place, options: str, statements: Path) -> None:
        """Have the server make it."""
        done = place.run(self.program, options, "--initialize-insecure", f"--init-file={statements}")
        if done.returncode:
            raise ServerFailed(f"{self.program} made no data folder in {place.data}: {complaints(done.stdout)}")


def _version(folder: Path) -> str:
    return told_version(folder / MysqlServer.program, r"Ver (\d+\.\d+\.\d+)(?!\S*MariaDB)")


ENGINE = MysqlServer()
