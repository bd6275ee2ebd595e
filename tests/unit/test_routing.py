"""Which address performs an operation: policies, turns, and what is refused."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, cast

import pytest

from hdbkit.config import Load, Target, TprocCSpec
from hdbkit.contracts import Database, Route, Session, UserPlan
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.execution.routes import check_routes, open_routes, policies_of
from hdbkit.workloads import workload

WORK = workload(TprocCSpec())
CLUSTER = Target(kind="nulldb", host="db1", nodes=("db2:99", "db3"), replicas=("r1", "r2"))


class Place:
    """A session that knows where it is."""

    def __init__(self, target: Target) -> None:
        self.at = target.host
        self.closed = False

    def close(self) -> None:
        self.closed = True


def places(
    routing: str, index: int = 0, seed: int = 1, target: Target = CLUSTER
) -> tuple[dict[str, Any], list[Place]]:
    """By operation the addresses of the first six executions, and the sessions that were opened."""
    opened: list[Place] = []

    def connect(one: Target) -> Session:
        opened.append(Place(one))
        return cast("Session", opened[-1])

    own = cast("Session", Place(target))
    policies = policies_of(WORK.load(Load(routing=routing)), WORK)
    with ExitStack() as stack:
        routes = open_routes(target, policies, UserPlan(index, seed), own, connect, stack)
        found = {}
        for name, route in routes.items():
            turns = route.turns([cast("Place", one).at for one in route.sessions])
            found[name] = [next(turns) for _ in range(6)]
    assert all(one.closed for one in opened)
    return found, opened


def test_one_policy_is_for_all_operations_and_users_begin_at_different_nodes() -> None:
    found, opened = places("round_robin")
    assert found == dict.fromkeys(WORK.operations, ["db1", "db2", "db3"] * 2)
    assert len(opened) == 2, "one session for each address, however many operations use it"
    assert places("round_robin", index=1)[0]["payment"][:3] == ["db2", "db3", "db1"]
    assert places("round_robin", index=5)[0]["payment"][:3] == ["db3", "db1", "db2"]


def test_each_operation_may_have_a_policy() -> None:
    found, opened = places("new_order: first; stock_level: replica; payment: random; others: last", index=1)
    assert "new_order" not in found, "it stays on the user's own session"
    assert found["order_status"] == found["delivery"] == ["db3"] * 6
    assert found["stock_level"] == ["r2"] * 6, "replicas are divided among the users"
    assert set(found["payment"]) <= {"db1", "db2", "db3"}
    assert sorted(one.at or "" for one in opened) == ["db2", "db3", "r2"]


def test_nodes_at_random_follow_from_the_seed() -> None:
    drawn = [places("random", seed=seed)[0]["payment"] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_nothing_else_is_connected_without_routing() -> None:
    assert policies_of(WORK.load(Load()), WORK) == {}
    assert places("payment: first") == ({}, [])


def test_replica_reads_are_the_policy_of_what_only_reads() -> None:
    policies = policies_of(WORK.load(Load(replica_reads=True)), WORK)
    assert {name: one.value for name, one in policies.items()} == dict.fromkeys(
        ("order_status", "stock_level"), "replica"
    )


@pytest.mark.parametrize(
    "given",
    ["payment: last; others: random", {"payment": "last", "others": "random"}, " payment:last ;others :random;"],
)
def test_policies_may_be_a_text_or_a_mapping(given: Any) -> None:
    assert str(Load(routing=given).routing) == "payment: last; others: random"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("rond_robin", "others: random'. Did you mean 'round_robin'?"),
        ("payment: last; random", "'random' has no policy; write"),
        ("", "it names no policy"),
        ({"payment": None}, "'None' is not a policy"),
    ],
)
def test_an_unknown_policy_is_one_sentence(given: Any, words: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        Load(routing=given)
    assert words in str(caught.value)


def test_routing_excludes_replica_reads_and_logins() -> None:
    with pytest.raises(ConfigErrors, match="routing and replica_reads exclude each other"):
        Load(routing="random", replica_reads=True)
    with pytest.raises(ConfigErrors, match="connect_per_operation and routing exclude each other"):
        Load(routing="random", connect_per_operation=True)


class Roles:
    """An engine whose servers are replicas if their names say so."""

    def connect(self, target: Target) -> Place:
        return Place(target)

    def is_replica(self, session: Place) -> bool:
        return (session.at or "").startswith("r")


@pytest.mark.parametrize(
    ("routing", "changes", "words"),
    [
        ("payments: last", {}, "or others. Did you mean 'payment'?"),
        ("last", {"nodes": ()}, "names no nodes; add nodes: [HOST:PORT] to the target"),
        ("stock_level: replica", {"replicas": ()}, "names no replicas; add replicas"),
        ("payment: replica", {}, "routing: payment changes data, which a replica does not accept"),
        ("last", {"nodes": ("db2", "r3")}, "the server r3 among the nodes of"),
        ("stock_level: replica", {"replicas": ("db9",)}, "the server db9 among the replicas of"),
    ],
)
def test_what_cannot_be_routed_is_refused(routing: str, changes: dict[str, Any], words: str) -> None:
    engine, load = cast("Database", Roles()), WORK.load(Load(routing=routing))
    check_routes(engine, CLUSTER, WORK.load(Load(routing="round_robin")), WORK)
    with pytest.raises(InputError) as caught:
        check_routes(engine, CLUSTER.with_(**changes), load, WORK)
    assert words in str(caught.value)


def test_nodes_are_part_of_a_url() -> None:
    target = Target.parse("postgresql://bench@db1:5432/lab?nodes=db2:5433,db3")
    assert target.nodes == ("db2:5433", "db3")
    assert Target.parse(target.url) == target
    assert [(one.host, one.port) for one in map(target.node, range(3))] == [
        ("db1", 5432),
        ("db2", 5433),
        ("db3", 5432),
    ]
    assert target.node(1).nodes == ()


def test_turns_of_one_session_are_that_session() -> None:
    route = Route((cast("Session", Place(CLUSTER)),))
    turns = route.turns("a")
    assert [next(turns) for _ in range(3)] == ["a"] * 3
