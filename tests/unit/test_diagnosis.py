"""Findings of the doctor that follow from what an engine reports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from hdbkit.config import Target
from hdbkit.contracts import Capability
from hdbkit.databases import database
from hdbkit.execution.diagnosis import State
from hdbkit.execution.questions import _encryption, _settings_control
from hdbkit.readings import Encryption


@pytest.mark.parametrize(
    ("days", "state", "text"),
    [
        (90, State.OK, "TLSv1.3; the server's certificate ends in 90 days ("),
        (5, State.WARNING, "TLSv1.3; the server's certificate ends in 5 days ("),
        (-3, State.PROBLEM, "TLSv1.3; the server's certificate has expired (2 days ago, "),
    ],
)
def test_the_end_of_the_servers_certificate(days: int, state: State, text: str) -> None:
    found = Encryption("TLSv1.3", datetime.now(UTC) + timedelta(days=days, hours=1))
    at = SimpleNamespace(engine=SimpleNamespace(encryption=lambda *_: found), session=None, target=None)
    (finding,) = _encryption(at)  # type: ignore[arg-type]
    assert (finding.state, finding.detail[: len(text)]) == (state, text)
    assert finding.advice.startswith("renew the certificate") == (state is not State.OK)


@pytest.mark.parametrize(
    ("host", "found", "state"),
    [
        ("db1", Encryption(), State.WARNING),
        ("127.0.0.1", Encryption(), State.OK),
        ("/run/postgresql", Encryption(), State.OK),
        ("db1", None, State.OK),
    ],
)
def test_a_connection_over_a_network_should_be_encrypted(host: str, found: Encryption | None, state: State) -> None:
    target = Target(kind="postgresql", host=host, user="u", database="x")
    at = SimpleNamespace(engine=SimpleNamespace(encryption=lambda *_: found), session=None, target=target)
    (finding,) = _encryption(at)  # type: ignore[arg-type]
    assert finding.state is state


def test_behind_a_pooler_the_encryption_is_that_of_the_clients_own_connection() -> None:
    """The server reports that of its connection to the pooler."""
    target = Target.parse("postgresql://bench@127.0.0.1:6432/x")
    session = SimpleNamespace(connection=SimpleNamespace(ssl_in_use=False), ask=lambda _: [("TLSv1.3",)])
    assert database(target).encryption(session, target) == Encryption()  # type: ignore[arg-type]


def test_without_permission_a_sweep_still_sets_what_each_session_can_set() -> None:
    engine = SimpleNamespace(capabilities={Capability.SETTINGS})
    at = SimpleNamespace(engine=engine, target=Target.parse("postgresql://bench@db1/x"))
    (finding,) = _settings_control(at)  # type: ignore[arg-type]
    assert finding.detail.endswith("a sweep sets only what each session can set for itself (compare_by: slices)")
