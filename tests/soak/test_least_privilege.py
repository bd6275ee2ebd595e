"""An account without any grant follows the messages of each verb, until the verb works; nothing changes before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pytest
from pydantic import SecretStr

import hdbkit
from hdbkit.config import Load, SweepSpec, Target, TprocCSpec, TprocHSpec
from hdbkit.databases import sql_session
from hdbkit.errors import ConfigErrors, HdbkitError
from hdbkit.loading import build, drop
from hdbkit.servers import PrivateServer, control, private_server
from tests.conftest import execute

ONE, ANSWERS = TprocCSpec(warehouses=1), TprocHSpec(scale_factor=0.01)
QUICK = Load(virtual_users=1, rampup_s=0, duration_s=1, counter_interval_s=0.5)
PASSWORD = "of-the-test"
MAX_ROUNDS = 3


def run(target: Target, **options: object) -> None:
    result = hdbkit.run(target, load=QUICK.model_copy(update=options))
    assert result.summary.completed
    assert not result.summary.failed, result.table("errors").to_string()


def sweep(target: Target) -> None:
    spec = SweepSpec(settings={"work_mem": ["4MB", "8MB"]}, blocks=2, virtual_users=[1], cooldown_s=0, load=QUICK)
    result = hdbkit.sweep(target.with_(may_change_settings=True), spec)
    assert set(result.runs["status"]) == {"done"}


def check(target: Target, spec: TprocCSpec | TprocHSpec = ONE) -> None:
    found = hdbkit.connect(target).check(spec, answers=spec is ANSWERS)
    assert found["passed"].eq(True).all(), found.to_string()


VERBS: dict[str, Callable[[Target], object]] = {
    "doctor": hdbkit.doctor,
    "check": check,
    "check --answers": lambda target: check(target, ANSWERS),
    "run --read-only": lambda target: run(target, read_only=True),
    "run": run,
    "run --analyze": lambda target: run(target, analyze=True),
    "run --routines client": lambda target: run(target, routines="client"),
    "compare": lambda target: hdbkit.measure_in_turn(target, target, blocks=1, load=QUICK, virtual_users=[1]),
    "profile": lambda target: hdbkit.profile("nightly", target, load=QUICK, virtual_users=[1]),
    "find-max": lambda target: hdbkit.find_max(target, "p95=10s", load=QUICK, blocks=2),
    "sweep": sweep,
}


@dataclass
class Place:
    """A server, how it is reached, and accounts without grants."""

    server: PrivateServer
    reached: Target
    names: list[str]
    rounds: dict[str, int] = field(default_factory=dict)

    def account(self) -> Target:
        """The next account, which may do nothing."""
        return self.reached.with_(
            user=self.names.pop(), password=SecretStr(PASSWORD), server_folder=None, password_file=None,
            may_change_settings=False,
        )  # fmt: skip

    def state(self) -> dict[str, object]:
        """What no refused verb may change: tables, routines, settings."""
        with closing(sql_session(self.server.admin)) as session:
            asked = ("list_tables", "list_routines")
            found: dict[str, object] = {name: sorted(map(str, session.ask(name))) for name in asked}
        return found | {"settings": {name: one.value for name, one in control(self.server.target).settings().items()}}

    def followed(self, verb: str, perform: Callable[[Target], object]) -> None:
        """Perform a verb with a new account, and give it what the messages name until it succeeds."""
        target, given = self.account(), list[str]()
        for _ in range(MAX_ROUNDS + 1):
            before = self.state()
            try:
                perform(target)
            except HdbkitError as error:
                text = str(error)
                assert text.count("\n") == isinstance(error, ConfigErrors), text
                assert self.state() == before, f"{verb} changed something, then: {text}"
                commands = re.findall(r"(?:GRANT|ALTER) [^;]*?(?=; |;|$|, or |\)$)", text)
                assert commands, f"{verb}: no command in: {text}"
                assert commands != given, f"{verb}: does not help: {text}"
                given = commands
                self.rounds[verb] = self.rounds.get(verb, 0) + 1
                execute(self.server.admin, *commands)
            else:
                return
        pytest.fail(f"{verb} needs more than {MAX_ROUNDS} rounds; the last: {given}")


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    with private_server() as server:
        build(server.admin, ONE)
        build(server.admin, ANSWERS)
        execute(server.admin, f"REVOKE CONNECT ON DATABASE {server.target.database} FROM PUBLIC")
        yield server


def test_who_follows_the_messages_of_a_verb_ends_with_the_verb_done(server: PrivateServer) -> None:
    names = [f"least_{number}" for number in range(20)]
    for name in names:
        execute(server.admin, f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
    it, problems = Place(server, server.target, names), list[str]()
    for verb, perform in VERBS.items():
        _note(problems, it, verb, perform)
    drop(server.admin, ONE)
    _note(problems, it, "build", lambda target: build(target, ONE))
    _note(problems, it, "drop", lambda target: drop(target, ONE))
    assert not problems, "\n".join(problems)


def _note(problems: list[str], it: Place, verb: str, perform: Callable[[Target], object]) -> None:
    """All verbs are tried, whatever one does."""
    try:
        it.followed(verb, perform)
    except (AssertionError, HdbkitError, pytest.fail.Exception) as error:
        problems.append(f"{verb}: {str(error)[:2000]}")
