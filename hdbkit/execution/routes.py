"""Which sessions of a virtual user perform an operation: at the target's own address, at nodes, or at a replica."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing

from hdbkit.config import Load, Target
from hdbkit.config.problems import did_you_mean
from hdbkit.config.routing import OTHER_OPERATIONS, Policy
from hdbkit.contracts import Database, Route, Session, UserPlan, Workload
from hdbkit.errors import InputError

Connect = Callable[[Target], Session]


def policies_of(load: Load, work: Workload) -> dict[str, Policy]:
    """The policy of each operation that is not performed at the target's own address alone."""
    if load.replica_reads:
        return dict.fromkeys(work.reading, Policy.REPLICA)
    named = load.routing.policies if load.routing else {}
    others = named.get(OTHER_OPERATIONS, Policy.FIRST)
    policies = {name: named.get(name, others) for name in work.operations}
    return {name: policy for name, policy in policies.items() if policy is not Policy.FIRST}


def open_routes(
    target: Target, policies: Mapping[str, Policy], user: UserPlan, own: Session, connect: Connect, opened: ExitStack
) -> dict[str, Route]:
    """The routes of a virtual user by operation; each address has one session, which ``opened`` closes.

    A user takes the nodes in turn from the one with its own number on, so that all nodes have work from the start.
    """
    sessions = {0: own}
    """By the number of the node; replicas have negative numbers."""

    def at(number: int) -> Session:
        if number not in sessions:
            at = target.node(number) if number > 0 else target.replica(-number - 1)
            sessions[number] = connect(at)
            opened.callback(sessions[number].close)
        return sessions[number]

    count = len(target.nodes) + 1
    in_turn = [(user.index + number) % count for number in range(count)]
    found = {}
    for operation, policy in policies.items():
        if policy is Policy.REPLICA:
            found[operation] = Route((at(-(user.index % len(target.replicas)) - 1),))
        elif policy is Policy.LAST:
            found[operation] = Route((at(count - 1),))
        else:
            seed = user.seed if policy is Policy.RANDOM else None
            found[operation] = Route(tuple(map(at, in_turn)), seed)
    return found


def check_routes(engine: Database, target: Target, load: Load, work: Workload) -> None:
    """Raise ``InputError`` if an operation is unknown or has no address, or ``CannotConnect`` if one is not there."""
    named = load.routing.policies if load.routing else {}
    for name in named:
        if name not in (*work.operations, OTHER_OPERATIONS):
            raise InputError(
                f"routing: {work.title} has no {work.noun} '{name}'; "
                f"name {', '.join(work.operations)}, or {OTHER_OPERATIONS}."
                f"{did_you_mean(name, work.operations)}"
            )
    policies = policies_of(load, work)
    if load.replica_reads and not policies:
        raise InputError(f"no operation of {work.title} only reads; omit replica_reads")
    if Policy.REPLICA in policies.values():
        _check_replicas(engine, target, policies, work)
    if set(policies.values()) - {Policy.REPLICA}:
        _check_nodes(engine, target)


def _check_replicas(engine: Database, target: Target, policies: Mapping[str, Policy], work: Workload) -> None:
    """Each replica can be reached, and replays the changes of the primary instead of accepting others."""
    for name, policy in policies.items():
        if policy is Policy.REPLICA and name not in work.reading:
            raise InputError(f"routing: {name} changes data, which a replica does not accept; use another policy")
    if not target.replicas:
        raise InputError(f"{target.described} names no replicas; add replicas: [HOST:PORT] to the target")
    for number, address in enumerate(target.replicas):
        with closing(engine.connect(target.replica(number))) as session:
            if not engine.is_replica(session):
                raise InputError(
                    f"the server {address} among the replicas of {target.described} accepts changes, so it is no "
                    "replica; remove it from the replicas, or make it read-only"
                )


def _check_nodes(engine: Database, target: Target) -> None:
    """Each node can be reached, and has no other role than the target's own address."""
    if not target.nodes:
        raise InputError(f"{target.described} names no nodes; add nodes: [HOST:PORT] to the target")
    for number, address in enumerate(target.nodes, 1):
        with closing(engine.connect(target.node(number))) as session:
            if engine.is_replica(session):
                raise InputError(
                    f"the server {address} among the nodes of {target.described} accepts no changes; name it among "
                    "the replicas"
                )
