"""A virtual user of TPROC-C: its operations derive from its seed alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hdbkit.config import Target, TprocCLoad, TprocCSpec
from hdbkit.config.specs.tproc_c import TRANSACTIONS
from hdbkit.contracts import Arguments, Prepared, Session, User, UserPlan
from hdbkit.databases import database
from hdbkit.results.spool import head_type
from hdbkit.workloads import workload

WORK = workload(TprocCSpec(warehouses=4))
HOME = 3
PLAN = UserPlan(index=2, seed=11)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    target = Target(kind="nulldb", database="user")
    one = database("nulldb").connect(target, WORK.scope(("ansi", "nulldb")))
    yield one
    one.close()


def user(session: Session, plan: UserPlan = PLAN, **load: Any) -> User:
    return WORK.user(session, TprocCLoad(**load), plan)


@pytest.fixture
def bound(session: Session, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Arguments]]:
    """Every statement and arguments that the session was asked to bind."""
    asked: list[tuple[str, Arguments]] = []
    bind = session.bind
    monkeypatch.setattr(session, "bind", lambda name, args: (asked.append((name, args)), bind(name, args))[1])
    return asked


def test_a_batch_holds_the_mix_and_says_where_each_transaction_works(
    session: Session, bound: list[tuple[str, Arguments]]
) -> None:
    batch = user(session).next_batch()
    assert np.bincount([one.operation for one in batch]).tolist() == [225, 215, 20, 20, 20]
    records = [np.frombuffer(one.head, head_type(WORK.details))[0] for one in batch]
    assert {(record["virtual_user"], record["w_id"]) for record in records} == {(PLAN.index, HOME)}
    assert [record["operation"] for record in records] == [one.operation for one in batch]
    for record, one, (statement, arguments) in zip(records, batch, bound, strict=True):
        name = TRANSACTIONS[one.operation]
        assert statement == f"call_{name}"
        assert record["d_id"] == (0 if name == "delivery" else arguments[1])


def test_equal_seeds_give_equal_users_and_others_differ(session: Session, bound: list[tuple[str, Arguments]]) -> None:
    for plan in (PLAN, PLAN, UserPlan(index=2, seed=12)):
        one = user(session, plan)
        one.next_batch()
        one.next_batch()
    first, second, other = bound[:1000], bound[1000:2000], bound[2000:]
    assert first == second
    assert first[:500] != first[500:]
    assert first != other


def test_the_order_id_is_the_first_value_of_a_new_order(session: Session) -> None:
    drawn = user(session)
    made = [one for one in drawn.next_batch() if one.operation == 0][:3]
    raw = [one.perform(one.bound) for one in made]
    heads = [drawn.head(one, answer) for one, answer in zip(made, raw, strict=True)]
    assert [np.frombuffer(head, head_type(WORK.details))["o_id"][0] for head in heads] == [1, 2, 3]
    assert [head[:-4] for head in heads] == [one.head[:-4] for one in made]
    payment = Prepared(1, print, None, b"as it is")
    assert drawn.head(payment, raw[0]) == payment.head


def test_client_routines_get_the_arguments_as_they_are(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "takes_arrays", False, raising=False)  # the null engine speaks no SQL
    drawn = user(session, routines="client")
    new_order = next(one for one in drawn.next_batch() if one.operation == 0)
    assert new_order.perform.args == (session,)
    record = np.frombuffer(new_order.head, head_type(WORK.details))[0]
    assert new_order.bound[:2] == (record["w_id"], record["d_id"])
    made = np.frombuffer(drawn.head(new_order, [(3001, "rest")]), head_type(WORK.details))[0]
    assert made["o_id"] == 3001


def test_waits_are_those_of_clause_5_2_5_7() -> None:
    waits = [WORK.waits[name] for name in TRANSACTIONS]
    assert [one.keying_s for one in waits] == [18, 3, 2, 2, 2]
    assert [one.thinking_s for one in waits] == [12, 12, 10, 5, 5]


def test_keying_and_thinking_do_not_change_the_inputs(session: Session, bound: list[tuple[str, Arguments]]) -> None:
    user(session).next_batch()
    user(session, keying_and_thinking=True).next_batch()
    assert bound[:500] == bound[500:]


def test_hammerdb_rules_draw_the_mix_at_random(session: Session) -> None:
    drawn = user(session, input_rules="hammerdb")
    counts = {tuple(np.bincount([one.operation for one in drawn.next_batch()], minlength=5)) for _ in range(4)}
    assert len(counts) > 1
