"""A statement of hdbkit's own that waits for a lock: a signal cancels it in the server, and the holder is known."""

from __future__ import annotations

import os
import signal
import threading
import time
from decimal import Decimal
from typing import Any

import pytest

from hdbkit import awaiting
from hdbkit.awaiting import reported_to
from hdbkit.config import Target
from hdbkit.contracts import Capability, Database
from hdbkit.databases import database
from hdbkit.sql import SERVER_STATEMENTS, statements
from hdbkit.workloads.tproc_c.conformance.rules import Small
from tests.conformance.conftest import Connect

PAY = "client_update_warehouse_ytd"
WAITED_S = 60


def interrupted_in(session: Any) -> threading.Thread:
    """Ctrl-C comes while the session waits."""

    def interrupt() -> None:
        end = time.monotonic() + WAITED_S
        while not any(one.session is session for one in awaiting._watch._open) and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.3)  # until the server has the statement; earlier, the connection is closed instead
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    return thread


@pytest.mark.needs(Capability.SERVER, "there is no server that could go on", tried=False)
@pytest.mark.needs(Capability.WRITERS_WAIT, "nothing waits", tried=False)
def test_a_statement_that_waits_is_cancelled_in_the_server_by_an_interrupt(connect: Connect, small: Small) -> None:
    holder, waiting = connect(is_own=False), connect()
    holder.begin()
    holder.call(PAY, Decimal(1), 1)
    interrupted_in(waiting)
    with pytest.raises(KeyboardInterrupt, match=f"statement {PAY}"):
        waiting.query(PAY, h_amount=Decimal(10), w_id=1)
    holder.commit()
    later = connect()
    later.query(PAY, h_amount=Decimal(100), w_id=1)  # waits for one that was not cancelled
    assert small.row("warehouse", w_id=1)["w_ytd"] % 1000 == 101


@pytest.mark.needs(Capability.SERVER, "there is no server that could go on", tried=False)
@pytest.mark.needs(Capability.WRITERS_WAIT, "nothing waits", tried=False)
def test_a_server_that_does_not_cancel_a_statement_loses_the_connection(
    connect: Connect, small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder, waiting = connect(is_own=False), connect()
    holder.begin()
    holder.call(PAY, Decimal(1), 1)
    monkeypatch.setattr(type(waiting), "cancel", lambda _: None)
    interrupted_in(waiting)
    with pytest.raises(KeyboardInterrupt, match="the connection was closed"):
        waiting.query(PAY, h_amount=Decimal(10), w_id=1)
    holder.rollback()


@pytest.mark.needs(Capability.WRITERS_WAIT, "nothing waits", tried=False)
def test_the_holder_of_a_lock_that_is_waited_for_is_reported(
    connect: Connect, small: Small, engine: Database, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "lock_holders" not in statements(database(target).dialects, SERVER_STATEMENTS):
        pytest.skip("the engine does not tell who holds a lock")
    monkeypatch.setattr(awaiting, "_REPORT_S", 0.5)
    holder, waiting = connect(is_own=False), connect()
    lines: list[str] = []
    holder.begin()
    holder.call(PAY, Decimal(1), 1)

    def receive(text: str) -> None:
        lines.append(text)
        holder.rollback()

    with reported_to(receive):
        waiting.query(PAY, h_amount=Decimal(10), w_id=1)
    (line,) = lines
    assert line.startswith(f"statement {PAY} waits for a lock on a row of ")
    assert "held by session " in line
    assert "idle in transaction for 1 s" in line


@pytest.mark.needs(Capability.LOCK_ERRORS, "a lock timeout is a deadlock", tried=False)
@pytest.mark.needs(Capability.LOCK_TIMEOUT, "it waits for ever", tried=False)
def test_a_session_of_hdbkits_own_has_a_limit_of_waits_for_locks_and_one_of_a_load_its_own(
    connect: Connect, small: Small, engine: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hdbkit.contracts.sessions.LOCK_TIMEOUT_MS", 1000)
    holder, waiting = connect(is_own=False), connect()
    holder.begin()
    holder.call(PAY, Decimal(1), 1)
    monkeypatch.setattr(awaiting, "_REPORT_S", 0.2)
    with pytest.raises(Exception, match=r"lock|Lock") as error:
        waiting.query(PAY, h_amount=Decimal(10), w_id=1)
    assert error.value.error_class == "lock_timeout"  # type: ignore[attr-defined]
    holder.rollback()
