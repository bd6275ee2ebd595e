"""Which address gets a password that an account keeps: the one place that decides it.

Those who use a service may type any address. What its account keeps (the environment, the keyring, files of drivers)
goes only to an address that its administrator named: kind, host, port, account and options are those of a target of
the targets file. Any other address gets a password that was typed for it, or none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from hdbkit.config.passwords import PASSWORD_VARIABLE
from hdbkit.config.served import served_clusters
from hdbkit.errors import HdbkitError
from hdbkit.paths import targets_file

if TYPE_CHECKING:
    from hdbkit.config.target import Target

_HANDED_ON = "HDBKIT_PASSWORD_OF"
"""The variable with the addresses, one a line, for which a process that had to decide handed on what it has."""
_NAME = re.compile(r"[\w$#.-]*")
_HARMLESS = frozenset({"connect_timeout", "pooling", "prepared", "compress", "cluster"})
"""Options that change neither where a password goes nor how it is sent."""


def handed_on(target: Target) -> dict[str, str]:
    """The variables with which another process has the password of a target, and of no other; {} without one."""
    secret = target.secret()
    if secret is None:
        return {}
    return {PASSWORD_VARIABLE: secret, _HANDED_ON: target.place if secret else ""}


def also_reached(target: Target, reached: Target) -> Target:
    """The same server at another address, such as that of a proxy of ours: it gets what the target may have."""
    if served_clusters() is not None and not target.withheld:
        os.environ[_HANDED_ON] = "\n".join([*_decided(), reached.place])
    return reached


def _decided() -> list[str]:
    return os.environ.get(_HANDED_ON, "").split("\n")


def reason_to_withhold(target: Target) -> str:
    """Why an address gets no password that the account of this service keeps; empty if it may, or outside a service.

    A password in memory was given for this target, and a private server has its own.
    """
    if served_clusters() is None or target.password or target.server_folder is not None:
        return ""
    if target.place in _decided() and not target.is_control_account:
        return ""
    file = targets_file()
    named = list(_named(file, _version(file)))
    if any(_is_of(target, one) for one in named):
        return ""
    alike = next((one.name for one in named if _addresses(target) <= _addresses(one)), None)
    differs = f"; it has the address of '{alike}', but not its account and options" if alike else ""
    return (
        f"the passwords that this service keeps go only to the targets of {file.name}, of which {target.place} is "
        f"none{differs}; type a password for it, or use a target of that file"
    )


def _is_of(target: Target, named: Target) -> bool:
    """Whether each address of a target is one of a named target, with its account and what steers connections."""
    same = target.kind == named.kind and _steering(target.options) == _steering(named.options)
    if target.database != named.database and (target.host is None or not _NAME.fullmatch(target.database or "")):
        return False  # it may name a server, as in tnsnames.ora or in a text that a driver takes apart
    return same and target.user in _accounts(target, named) and _addresses(target) <= _addresses(named)


def _accounts(target: Target, named: Target) -> Collection[str | None]:
    """The account of a named target that may have the same password: the measured one, or the one that controls."""
    return [named.control.user] if target.is_control_account else [named.user]


def _steering(options: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in options.items() if name not in _HARMLESS}


def _addresses(target: Target) -> set[tuple[str | None, int | None]]:
    return set(target.addresses)


@lru_cache(maxsize=4)
def _named(file: Path, _version: tuple[int, ...]) -> tuple[Target, ...]:
    """The valid targets of a file that has this version."""
    return tuple(_valid(file))


def _valid(file: Path) -> Iterator[Target]:
    from hdbkit.config.target import Target, target_names

    try:
        names = target_names(file)
    except HdbkitError:
        return
    for name in names:
        try:
            yield Target.parse(name, file)
        except HdbkitError:  # an entry that cannot be used names nothing
            continue


def _version(file: Path) -> tuple[int, ...]:
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size
