"""What a session's account may do on the engines that use mysqlclient, and the GRANTs for the rest.

SHOW GRANTS alone has the privileges of active roles, and what is revoked of a privilege on everything. It names the
account as the server knows it, which a proxy may have chosen. An account that may not ask is taken to have all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType

from hdbkit.contracts import Access, Session, Verb
from hdbkit.errors import TransactionError
from hdbkit.readings import MissingGrant

_NAME = r"`(?:[^`]|``)*`|\*"
_ROUTINE = "PROCEDURE|FUNCTION|PACKAGE|PACKAGE BODY"
_LINE = re.compile(rf"(GRANT|REVOKE) (.+?) ON (?:TABLE |({_ROUTINE}) )?({_NAME})\.({_NAME}) (?:TO|FROM) ")
_DENIED = re.compile(
    r"([\w ,]+) command denied to user .+ for (?:column .+ in )?(table|routine) (?:`(.+)`\.)?['`](.+)['`]", re.DOTALL
)
_WILDCARD = re.compile("([_%])")
_ESCAPED = r"\\\1"
_COLUMNS = re.compile(r"\([^)]*\)")
_PART = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')
_EVERYTHING, _ALL, _EXECUTE = "*", "ALL PRIVILEGES", "EXECUTE"
_OF_ROUTINES = re.compile(r"ROUTINE|EXECUTE")
_UNKNOWN = ("GRANT ALL PRIVILEGES ON *.* TO ``",)
_AS = {"TRUNCATE": "DROP"}
"""What a privilege is called here."""
_NOT_CHECKED = frozenset({"LOCK"})
"""The engines differ in what it requires."""
_RUN = MappingProxyType({"DB": ("SELECT", "EXECUTE")})
PRIVILEGES = MappingProxyType(
    {
        "build": {"DB": ("CREATE", "INDEX", "INSERT", "SELECT", "UPDATE", "DELETE", "CREATE ROUTINE")},
        **dict.fromkeys(("check", "run", "run --read-only"), _RUN),
        "run --analyze": {"DB": ("SELECT", "EXECUTE", "INSERT")},
        "drop": {"DB": ("SELECT", "DROP", "ALTER ROUTINE")},
    }
)
"""As in ``contracts.Database``; routines run with the privileges of who built them."""
_WITHOUT = "hdbkit cannot build, run and drop a schema in this database"
_OF_SERVER = frozenset({"information_schema", "performance_schema", "sys"})
"""Databases whose tables have rules of their own."""


@dataclass(frozen=True)
class _Grant:
    privileges: frozenset[str]
    database: str
    name: str
    """The table or routine; ``*`` for all of the database."""
    is_routine: bool
    revoked: bool


class Grants:
    """The privileges of an account, from the lines of SHOW GRANTS.

    ``literal``: the server takes ``_`` and ``%`` in the name of a database as they are; else they are a pattern.
    """

    def __init__(self, lines: Iterable[str], *, literal: bool = False) -> None:
        self._literal = literal
        self._grants = [grant for line in lines if (grant := _grant(line))]

    def everywhere(self, privilege: str) -> bool:
        """Whether it is granted on everything, though perhaps not in each database."""
        return any(one.database == _EVERYTHING and not one.revoked for one in self._of(privilege))

    def on_database(self, privilege: str, database: str) -> bool:
        """Whether it is granted on all of a database."""
        revoked = any(one.revoked and _same(one.database, database) for one in self._of(privilege))
        return (self.everywhere(privilege) and not revoked) or any(
            one.name == _EVERYTHING and not one.revoked and self._matches(one.database, database)
            for one in self._of(privilege)
        )

    def on(self, privilege: str, database: str, name: str) -> bool:
        """Whether it is granted on a table, or on one of its columns; EXECUTE: on a routine."""
        return self.on_database(privilege, database) or any(
            one.is_routine is (privilege == _EXECUTE) and _same(one.database, database) and _same(one.name, name)
            for one in self._of(privilege)
        )

    def on_a_routine(self, database: str) -> bool:
        """Whether EXECUTE is granted on a routine of a database."""
        return any(one.is_routine and _same(one.database, database) for one in self._of(_EXECUTE))

    def level(self, database: str) -> str:
        """All of a database, as a GRANT names it: as one did already, since servers may use only one spelling."""
        spellings = [one for one in self._patterns(database) if self._plain_name(one) == database]
        wanted = database if self._literal else _WILDCARD.sub(_ESCAPED, database)
        name = wanted if not spellings or wanted in spellings else spellings[0]
        return "`" + name.replace("`", "``") + "`.*"

    def is_replaced(self, database: str) -> bool:
        """Whether a grant on :meth:`level` replaces one on a pattern, so that it must have all privileges.

        Servers use the grant on the narrowest pattern alone.
        """
        return any(self._plain_name(one) != database for one in self._patterns(database))

    def _patterns(self, database: str) -> list[str]:
        on_databases = (one for one in self._grants if one.name == _EVERYTHING != one.database and not one.revoked)
        return [one.database for one in on_databases if self._matches(one.database, database)]

    def _plain_name(self, pattern: str) -> str:
        """The database that a pattern means if it is no pattern."""
        return pattern if self._literal else re.sub(r"\\(.)", r"\1", pattern)

    def _of(self, privilege: str) -> Iterator[_Grant]:
        return (one for one in self._grants if one.privileges & {privilege, _ALL})

    def _matches(self, pattern: str, database: str) -> bool:
        if self._literal or pattern == _EVERYTHING:
            return _same(pattern, database)
        parts = re.findall(r"\\.|.", pattern, re.DOTALL)
        wild = {"_": ".", "%": ".*"}
        text = "".join(wild.get(part) or re.escape(part[-1]) for part in parts)
        return re.fullmatch(text, database, re.DOTALL | re.IGNORECASE) is not None


def _grant(line: str) -> _Grant | None:
    """A line of SHOW GRANTS; None if it grants a role or the right to be a proxy."""
    found = _LINE.match(line)
    if found is None:
        return None
    verb, privileges, routine, database, name = found.groups()
    named = frozenset(one.strip() for one in _COLUMNS.sub("", privileges).split(","))
    return _Grant(named, _plain(database), _plain(name), routine is not None, verb == "REVOKE")


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _same(one: str, other: str) -> bool:
    """Whether names are equal, as on a server that ignores capitals."""
    return one.casefold() == other.casefold()


def granted(session: Session, databases: Iterable[str | None] = ()) -> Grants:
    """The privileges of the session's account; ``databases`` are those that will be asked for."""
    literal = any(_is_literal(session, name) for name in databases if name)
    try:
        return Grants([str(line) for (line,) in session.ask("grants")], literal=literal)
    except TransactionError:
        return Grants(_UNKNOWN, literal=literal)


def _is_literal(session: Session, database: str) -> bool:
    """Whether the server takes the name of a database as it is; asked where it matters."""
    return bool(_WILDCARD.search(database)) and bool(session.ask("literal_databases")[0][0])


def level_of(session: Session, database: str) -> str:
    """All of a database, as the GRANT for a new account names it."""
    return Grants((), literal=_is_literal(session, database)).level(database)


def grants_for(session: Session, access: Access) -> list[str]:
    """The commands that grant the session's account what it lacks of ``access``.

    A table need not be there.
    """
    sought = ",".join(sorted(_split(name)[1].lower() for name in access.routines))
    seen = session.ask("granted_to", routines=sought)
    account, current = str(seen[0][0]), seen[0][1]
    routines = {
        (str(database).casefold(), str(name).casefold()): bool(own) for _, _, database, name, own in seen if name
    }
    called = {_key(name, current) for name in access.routines}
    needed = [access.tables]
    if any(routines.get(one) for one in called):
        needed.append(access.in_routines)
    used = {
        (_AS.get(privilege, privilege), *_split(name, current))
        for tables in needed
        for privilege, names in tables.items()
        if privilege not in _NOT_CHECKED
        for name in names
        if name.lower() != "dual"
    }
    used |= {(_EXECUTE, *_split(name, current)) for name in access.routines}
    grants = granted(session, {database for _, database, _ in used})
    lacking: dict[str, set[str]] = {}
    for privilege, database, name in sorted(used):
        if database and database.lower() not in _OF_SERVER and not grants.on(privilege, database, name):
            lacking.setdefault(database, set()).add(privilege)
    for one in filter(grants.is_replaced, lacking):
        lacking[one] |= {privilege for privilege, database, _ in used if database == one}
    return [f"GRANT {', '.join(sorted(names))} ON {grants.level(one)} TO {account}" for one, names in lacking.items()]


def denied_access(error: TransactionError) -> list[Access]:
    """What the text of an error names: ``INSERT command denied to user ... for table `shop`.`notes```."""
    found = _DENIED.fullmatch(error.text)
    if found is None:
        return []
    privileges, kind, *name = found.groups()
    names = frozenset({".".join('"' + part.replace('"', '""') + '"' for part in name if part)})
    if kind == "routine":
        return [Access(routines=names)]
    return [Access({privilege.strip().upper(): names for privilege in privileges.split(",")})]


def advised_grants(session: Session, verb: Verb | None = None, *, routines: bool = True) -> list[MissingGrant]:
    """What the session's account lacks of what hdbkit uses: in its database, and of what it reads of the server.

    With a verb, only what that cannot do without; of routines only where a workload has them.
    """
    account, current = session.ask("granted_to", routines="")[0][:2]
    grants = granted(session, (current,))
    wanted = sorted({name for one in ([verb] if verb else Verb) for name in PRIVILEGES[one]["DB"]}) if current else ()
    names = [
        name
        for name in wanted
        if not grants.on_database(name, current)
        and (routines or not _OF_ROUTINES.search(name))
        and not (name == _EXECUTE and verb and grants.on_a_routine(current))
    ]
    missing = [(", ".join(names), grants.level(current), _WITHOUT)] if names else []
    if not verb:
        advised = session.ask("advised_privileges")
        missing += [(name, "*.*", without) for name, without in advised if not grants.everywhere(name)]
    return [MissingGrant(f"GRANT {name} ON {on} TO {account}", without) for name, on, without in missing]


def _key(name: str, current: str | None) -> tuple[str, str]:
    database, own = _split(name, current)
    return database.casefold(), own.casefold()


def _split(name: str, current: str | None = None) -> tuple[str, str]:
    """Database and name of ``database.name`` or ``name``; a database is empty if none is known."""
    parts = [quoted.replace('""', '"') or plain for quoted, plain in _PART.findall(name)]
    return (parts[0] if len(parts) > 1 else current or ""), parts[-1]
