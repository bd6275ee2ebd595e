"""MySQL as a private server, with any ``mysqld`` on the host; no other MySQL program is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hdbkit.errors import ServerFailed
from hdbkit.paths import cache_folder
from hdbkit.servers._mysqld import MysqldServer, error_lines, mysqld_candidates
from hdbkit.servers.binaries import reported_version
from hdbkit.servers.place import Place
from hdbkit.sql import ANSI


class MysqlServer(MysqldServer):
    """The launcher for MySQL."""

    kind = "mysql"
    title = "MySQL"
    advice = "install MySQL's server, or name the folder of its mysqld in HDBKIT_MYSQLD"
    order = 3
    dialects = (ANSI, "mysql")
    program = "mysqld"
    validates = ("--validate-config", "--log-error-verbosity=2")
    # A package's default folder for files of SQL statements need not exist on this host, and nothing here needs one.
    special = {"mysqlx": "0", "secure-file-priv": "NULL"}  # noqa: RUF012  as in the protocol

    def candidates(self) -> Iterator[tuple[Path, str]]:
        """The folder named by ``HDBKIT_MYSQLD``, hdbkit's cache, PATH and the system's folders."""
        cached = sorted(cache_folder().glob("mysql-*/bin"), reverse=True)
        return mysqld_candidates(self.program, *((folder, "cache") for folder in cached))

    def version(self, folder: Path) -> str:
        return reported_version(folder / self.program, r"Ver (\d+\.\d+\.\d+)(?!\S*MariaDB)")

    def make_data(self, place: Place, options: str, statements: Path) -> None:
        done = place.run(self.program, options, "--initialize-insecure", f"--init-file={statements}")
        if done.returncode:
            raise ServerFailed(f"{self.program} did not create its data in {place.data}: {error_lines(done.stdout)}")


LAUNCHER = MysqlServer()
