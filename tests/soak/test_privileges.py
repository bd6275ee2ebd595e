"""The table of minimum privileges in docs/servers.md: each verb works with its grants, and fails without each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass

import pytest
from pydantic import SecretStr

import hdbkit
from hdbkit.config import Load, Target, TprocCSpec
from hdbkit.contracts import Capability, SqlSession
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, SchemaProblem
from hdbkit.loading import build, drop
from hdbkit.servers import PrivateServer, find_binaries, private_server
from hdbkit.workloads import workload
from tests.conftest import login_options

ONE = TprocCSpec(warehouses=1)
QUICK = Load(virtual_users=2, rampup_s=0, duration_s=1, counter_interval_s=0.5)
PASSWORD = "of-the-test"
KINDS = sorted({one.kind for one in find_binaries() if Capability.SQL in database(one.kind).capabilities})
Verb = Callable[[Target], object]


@dataclass(frozen=True)
class Grants:
    """The grants of each verb, ``{on}`` what they are on and ``{to}`` the account."""

    account: tuple[str, ...]
    build: tuple[str, ...]
    check: tuple[str, ...]
    run: tuple[str, ...]
    read_only: tuple[str, ...]
    analyze: tuple[str, ...]
    drop: tuple[str, ...]


_TABLES = "GRANT {} ON ALL TABLES IN SCHEMA tproc_c TO {{to}}"
_USAGE, _EXECUTE = "GRANT USAGE ON SCHEMA tproc_c TO {to}", "GRANT EXECUTE ON ALL ROUTINES IN SCHEMA tproc_c TO {to}"
_READ = (_USAGE, _TABLES.format("SELECT"))
_POSTGRESQL = Grants(
    account=("CREATE ROLE {to} LOGIN PASSWORD '{password}'",),
    build=("GRANT CREATE ON DATABASE {on} TO {to}",),
    check=_READ,
    run=(*_READ, _TABLES.format("INSERT"), _TABLES.format("UPDATE"), _TABLES.format("DELETE")),
    read_only=_READ,
    analyze=(),  # only the owner may
    drop=(),
)
_MYSQL = Grants(
    account=("CREATE USER {to} IDENTIFIED BY '{password}'",),
    build=tuple(
        f"GRANT {name} ON {{on}}.* TO {{to}}"
        for name in ("CREATE", "INDEX", "INSERT", "SELECT", "UPDATE", "DELETE", "CREATE ROUTINE")
    ),
    check=("GRANT SELECT ON {on}.* TO {to}", "GRANT EXECUTE ON {on}.* TO {to}"),
    run=("GRANT SELECT ON {on}.* TO {to}", "GRANT EXECUTE ON {on}.* TO {to}"),  # routines run as who built them
    read_only=("GRANT SELECT ON {on}.* TO {to}", "GRANT EXECUTE ON {on}.* TO {to}"),
    analyze=tuple(f"GRANT {name} ON {{on}}.* TO {{to}}" for name in ("SELECT", "EXECUTE", "INSERT")),
    drop=tuple(f"GRANT {name} ON {{on}}.* TO {{to}}" for name in ("ALTER ROUTINE", "SELECT", "DROP")),
)


class Administrator:
    """Grants and revokes."""

    def __init__(self, server: PrivateServer) -> None:
        self.server, self.kind = server, server.target.kind
        self.grants = _POSTGRESQL if self.kind == "postgresql" else _MYSQL
        self.number = 0

    def do(self, *commands: str, to: str) -> None:
        session: SqlSession = database(self.kind).connect(self.server.admin)  # type: ignore[assignment]
        with closing(session):
            for command in commands:
                session.execute(command.format(on=self.server.target.database, to=to, password=PASSWORD))

    def account(self, *grants: str) -> Target:
        """A new account with these grants."""
        self.number += 1
        name = f"account_{self.number}"
        to = name if self.kind == "postgresql" else f"'{name}'@'localhost'"
        self.do(*self.grants.account, *grants, to=to)
        return self.server.target.with_(
            user=name,
            password=SecretStr(PASSWORD),
            server_folder=None,
            password_file=None,
            may_change_settings=False,
            options=login_options(self.server.target),
        )

    def minimal(self, verb: Verb, needed: tuple[str, ...]) -> Target:
        """An account with the needed grants, with which the verb works; it fails without each of them."""
        for missing in needed:
            target = self.account(*(one for one in needed if one != missing))
            try:
                verb(target)
            except HdbkitError:
                continue
            pytest.fail(f"it works without {missing}")
        target = self.account(*needed)
        verb(target)
        return target


def run(target: Target, **options: object) -> None:
    result = hdbkit.run(target, load=QUICK.model_copy(update=options))
    if result.summary.failed or not result.summary.completed:
        raise HdbkitError(result.table("errors").to_string())


def check(target: Target) -> None:
    found = hdbkit.connect(target).check()
    if not found["passed"].eq(True).all():
        raise HdbkitError(found.to_string())


@pytest.fixture(params=KINDS)
def administrator(request: pytest.FixtureRequest) -> Iterator[Administrator]:
    with private_server(request.param) as server:
        yield Administrator(server)


def test_each_verb_needs_its_grants_and_no_more(administrator: Administrator) -> None:
    grants, owner = administrator.grants, administrator.server.admin

    def build_and_run(target: Target) -> None:
        """On MariaDB and MySQL routines run with the privileges of who built them."""
        with suppress(SchemaProblem):  # there is none
            drop(owner, ONE)
        build(target, ONE)
        run(target)

    def drop_all(target: Target) -> None:
        """An account that may not see routines would leave them behind."""
        with suppress(SchemaProblem):  # it is there
            build(owner, ONE)
        drop(target, ONE)
        with closing(database(owner).schema(owner, workload(ONE))) as schema:
            if schema.session.ask("list_routines"):
                raise HdbkitError("routines are left")

    builder = administrator.minimal(build_and_run, grants.build)
    administrator.minimal(check, grants.check)
    administrator.minimal(run, grants.run)
    administrator.minimal(lambda target: run(target, read_only=True), grants.read_only)
    if administrator.kind == "postgresql":
        run(builder, analyze=True)
        drop(builder, ONE)
    else:
        administrator.minimal(lambda target: run(target, read_only=True, analyze=True), grants.analyze)
        administrator.minimal(drop_all, grants.drop)
