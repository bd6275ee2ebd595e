"""Where load hosts come from: workers of a dask scheduler, hosts reached by SSH, or processes of this host."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from hdbkit.config.hosts import is_loopback
from hdbkit.config.written import Written
from hdbkit.errors import InputError
from hdbkit.files import read_text

FORMS = "tls://HOST:8786 (a dask scheduler), ssh:FILE (a host per line), or local:N"
UNENCRYPTED = "unencrypted:"
"""Before the address of a scheduler of this host: any account of the host may use it, too."""
MAX_LOCAL = 256
"""The maximum number of load hosts that are processes of this host."""


class CutOff(StrEnum):
    """What the users of a load host do while the coordinator does not reach it."""

    CONTINUE = "continue"
    STOP = "stop"


@dataclass(frozen=True)
class Cluster(Written):
    """``local`` processes, a ``hosts`` file for SSH, or the address of a ``scheduler``.

    Example:
        >>> Cluster.parse("local:4").local
        4
        >>> Cluster.parse("tls://load0:8786").needs_tls
        True
    """

    local: int = 0
    hosts: Path | None = None
    scheduler: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read one of ``FORMS``.

        Raises:
            ValueError: it is no cluster, or an unencrypted scheduler on another host or without the word for it.
        """
        if found := re.fullmatch(r"local:([0-9]{1,4})", text):
            count = int(found[1])
            if not 1 <= count <= MAX_LOCAL:
                raise ValueError(f"local:{count} is not from local:1 to local:{MAX_LOCAL}")
            return cls(local=count)
        if text.startswith("ssh:") and text.removeprefix("ssh:").strip():
            return cls(hosts=Path(text.removeprefix("ssh:")))
        address = text.removeprefix(UNENCRYPTED)
        if not re.fullmatch(r"(tcp|tls)://[^/@\s]+:[0-9]{1,5}", address):
            raise ValueError(f"'{text}' is no cluster; write {FORMS}")
        if not address.startswith("tcp:"):
            return cls(scheduler=address)
        if not is_loopback(urlsplit(address).hostname or ""):
            raise ValueError(
                f"'{text}' is another host, so its connections must be encrypted; start the scheduler and its "
                "workers with certificates, and write tls:// (see docs/cluster.md)"
            )
        if address == text:
            raise ValueError(
                f"'{text}' is not encrypted, so every account of this host could execute programs as yours; use "
                f"local:N, or tls:// with certificates (see docs/cluster.md), or accept that with {UNENCRYPTED}{text}"
            )
        return cls(scheduler=address)

    def __str__(self) -> str:
        if self.local:
            return f"local:{self.local}"
        if self.hosts is not None:
            return f"ssh:{self.hosts}"
        return f"{UNENCRYPTED if self.scheduler.startswith('tcp:') else ''}{self.scheduler}"

    @property
    def needs_tls(self) -> bool:
        """Whether both sides must have certificates that dask's configuration names."""
        return self.hosts is not None or self.scheduler.startswith("tls:")

    @property
    def warning(self) -> str:
        """What makes it unsafe; empty if nothing does."""
        if not self.scheduler.startswith("tcp:"):
            return ""
        return (
            f"the scheduler {self.scheduler} has no encryption: every account of this host can execute programs as "
            "yours and read the database's password; use local:N, or certificates and tls://"
        )


def security_of(cluster: Cluster) -> Any:
    """The certificates of its connections, as ``distributed.Security`` from dask's configuration; None without TLS.

    Raises:
        ValueError: connections are encrypted, and a file is not named or not there.
    """
    if not cluster.needs_tls:
        return None
    from distributed import Security  # dask takes half a second to import

    security = Security()  # type: ignore[no-untyped-call]
    files = {name: getattr(security, name) for name in ("tls_ca_file", "tls_client_cert", "tls_client_key")}
    if missing := [name for name, path in files.items() if not path]:
        raise ValueError(
            f"connections with other load hosts are encrypted, but dask's configuration lacks {', '.join(missing)}; "
            "name the files under distributed.comm.tls (see docs/cluster.md)"
        )
    if gone := [path for path in files.values() if not Path(path).is_file()]:
        raise ValueError(f"dask's configuration names {gone[0]} for encrypted connections, which is no file")
    security.require_encryption = True
    return security


def read_hosts(file: Path) -> list[str]:
    """The hosts that a file lists, one per line; text after ``#`` is a comment.

    Raises:
        ValueError: the file cannot be read, or lists no host.
    """
    try:
        lines = [line.partition("#")[0].strip() for line in read_text(file.expanduser()).splitlines()]
    except (InputError, ValueError) as error:
        raise ValueError(f"the file of load hosts cannot be read: {error}") from None
    hosts = [line for line in lines if line]
    wrong = next((one for one in hosts if not re.fullmatch(r"[A-Za-z0-9._:@-]+", one) or one.startswith("-")), None)
    if wrong is not None:
        raise ValueError(f"'{wrong}' in {file} is not the name or address of a host")
    if not hosts:
        raise ValueError(f"the file of load hosts {file} lists no host; write one per line")
    return hosts
