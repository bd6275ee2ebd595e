"""MariaDB as a private server, with installed binaries such as Debian's package ``mariadb-server``."""

from __future__ import annotations

import shutil
from pathlib import Path

from hdbkit.errors import ServerFailed
from hdbkit.servers._mysqld import MysqldServer, candidates, error_lines
from hdbkit.servers.binaries import chosen, installed, reported_version
from hdbkit.servers.place import Binaries, Place
from hdbkit.sql import ANSI

_INSTALLER = "mariadb-install-db"


class MariaServer(MysqldServer):
    """The launcher for MariaDB."""

    kind = "mariadb"
    order = 2
    dialects = (ANSI, "mysql", "mariadb")
    program = "mariadbd"
    validates = ("--help", "--verbose")

    def find(self) -> list[Binaries]:
        """The binaries in the folder named by ``HDBKIT_MYSQLD``, on PATH, and in the system's folders."""
        return installed(self.kind, candidates(self.program), _version)

    def choose(self, version: str | None, source: str | None) -> Binaries:
        """Select binaries by ``version`` such as "10.11" and ``source``: installed, named or a folder of binaries."""
        advice = "install the package mariadb-server, or name its folder in HDBKIT_MYSQLD"
        return chosen(self.kind, "MariaDB", self.find(), version, source, _version, advice)

    def make_data(self, place: Place, options: str, statements: Path) -> None:
        """Run the installer without test databases and accounts."""
        installer = _installer(place.binaries)
        assert installer is not None
        done = place.run(
            str(installer), options, "--auth-root-authentication-method=normal", "--skip-test-db",
            "--skip-name-resolve", f"--extra-file={statements}",
        )  # fmt: skip
        if done.returncode:
            raise ServerFailed(f"{_INSTALLER} failed in {place.data}: {error_lines(done.stdout)}")


def _installer(folder: Path) -> Path | None:
    """The installer: next to the server, in a neighbouring folder, or on PATH."""
    near = [folder, folder.parent / "bin", folder.parent / "scripts"]
    found = next((one / _INSTALLER for one in near if (one / _INSTALLER).is_file()), None)
    on_path = shutil.which(_INSTALLER)
    return found or (Path(on_path) if on_path else None)


def _version(folder: Path) -> str:
    if _installer(folder) is None:
        return ""
    return reported_version(folder / MariaServer.program, r"Ver (\d+\.\d+\.\d+)-MariaDB")


LAUNCHER = MariaServer()
