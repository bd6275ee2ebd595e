"""MariaDB as a private server, with installed binaries such as Debian's package ``mariadb-server``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from hdbkit.errors import ServerFailed
from hdbkit.servers._mysqld import MysqldServer, error_lines, mysqld_candidates
from hdbkit.servers.binaries import reported_version
from hdbkit.servers.place import Place
from hdbkit.sql import ANSI

_INSTALLER = "mariadb-install-db"


class MariaServer(MysqldServer):
    """The launcher for MariaDB."""

    kind = "mariadb"
    title = "MariaDB"
    advice = "install the package mariadb-server, or name its folder in HDBKIT_MYSQLD"
    order = 2
    dialects = (ANSI, "mysql", "mariadb")
    program = "mariadbd"
    validates = ("--help", "--verbose")

    def candidates(self) -> Iterator[tuple[Path, str]]:
        """The folder named by ``HDBKIT_MYSQLD``, PATH, and the system's folders."""
        return mysqld_candidates(self.program)

    def version(self, folder: Path) -> str:
        """Empty without the installer, too."""
        if _installer(folder) is None:
            return ""
        return reported_version(folder / self.program, r"Ver (\d+\.\d+\.\d+)-MariaDB")

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


LAUNCHER = MariaServer()
