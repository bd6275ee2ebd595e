"""The table of minimum privileges in docs/servers.md: each verb works with its grants, and fails without each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import pytest
from pydantic import SecretStr

import hdbkit
from hdbkit.config import Load, SweepSpec, Target, TprocCSpec
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


PLACES = {
    "postgresql": {"DB": "DATABASE {on}", "S": "SCHEMA tproc_c", "S.*": "ALL TABLES IN SCHEMA tproc_c"},
    "mariadb": {"DB": "{on}.*"},
    "mysql": {"DB": "{on}.*"},
}


class Administrator:
    """Grants and revokes."""

    def __init__(self, server: PrivateServer) -> None:
        self.server, self.kind = server, server.target.kind
        self.number = 0

    def needs(self, verb: str) -> tuple[str, ...]:
        """The grants of a verb, as the engine states them."""
        needed = database(self.kind).privileges[verb].items()
        return tuple(f"GRANT {name} ON {PLACES[self.kind][on]} TO {{to}}" for on, names in needed for name in names)

    def do(self, *commands: str, to: str) -> None:
        session: SqlSession = database(self.kind).connect(self.server.admin)  # type: ignore[assignment]
        with closing(session):
            for command in commands:
                session.execute(command.format(on=self.server.target.database, to=to, password=PASSWORD))

    def account(self, *grants: str) -> Target:
        """A new account with these grants."""
        self.number += 1
        name = f"account_{self.number}"
        is_role = self.kind == "postgresql"
        to = name if is_role else f"'{name}'@'localhost'"
        create = (
            "CREATE ROLE {to} LOGIN PASSWORD '{password}'"
            if is_role
            else "CREATE USER {to} IDENTIFIED BY '{password}'"
        )
        self.do(create, *grants, to=to)
        return self.server.target.with_(
            user=name,
            password=SecretStr(PASSWORD),
            server_folder=None,
            password_file=None,
            may_change_settings=False,
            may_restart=False,  # a run is repeated on its target if that is no more than an address
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


def sweep_and_compare(target: Target) -> None:
    load, tried = Load(rampup_s=0, duration_s=0.5), {"isolation": ["read_committed", "serializable"]}
    swept = hdbkit.sweep(target, SweepSpec(factors=tried, blocks=2, virtual_users=[2], load=load))
    one, other = (hdbkit.run(target, load=QUICK).run_id for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HDBKIT_PASSWORD", PASSWORD)  # which no file of a run has
        compared = hdbkit.measure_in_turn(one, other, blocks=2)
    if {*swept.runs["status"]} != {"done"} or len(compared.base) != len(compared.new):
        raise HdbkitError(swept.runs.to_string())


def check(target: Target) -> None:
    found = hdbkit.connect(target).check()
    if not found["passed"].eq(True).all():
        raise HdbkitError(found.to_string())


@pytest.fixture(params=KINDS)
def administrator(request: pytest.FixtureRequest) -> Iterator[Administrator]:
    with private_server(request.param) as server:
        yield Administrator(server)


def test_each_verb_needs_its_grants_and_no_more(administrator: Administrator) -> None:
    needs, owner = administrator.needs, administrator.server.admin

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

    if administrator.kind == "postgresql":
        assert "role" in {*hdbkit.doctor(administrator.account(*needs("doctor")))["subject"]}
    builder = administrator.minimal(build_and_run, needs("build"))
    administrator.minimal(check, needs("check"))
    sweep_and_compare(administrator.minimal(run, needs("run")))
    administrator.minimal(lambda target: run(target, read_only=True), needs("run --read-only"))
    if administrator.kind == "postgresql":
        run(builder, analyze=True)
        drop(builder, ONE)
    else:
        administrator.minimal(lambda target: run(target, read_only=True, analyze=True), needs("run --analyze"))
        administrator.minimal(drop_all, needs("drop"))
