"""Sessions with the primaries of a cluster, as one session.

A key with a hash tag is on the node of its slot. A key without one is on every node, under a tag of the node's own: a
transaction finds all that it uses on one node. A function runs on the node of its declared key; the answers of
other scripts are put together as these state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

from redis.crc import key_slot

from hdbkit.contracts import Arguments, Row, Scope, Table
from hdbkit.databases.redis.load import Loader, Word, encoded, is_tagged
from hdbkit.databases.redis.session import BoundScript, Raw, RedisSession


@dataclass(frozen=True)
class Slots:
    """The slots of a node, as pairs of the first and the last."""

    ranges: tuple[tuple[int, int], ...]

    def __contains__(self, slot: int) -> bool:
        return any(low <= slot <= high for low, high in self.ranges)

    @cached_property
    def tag(self) -> str:
        """A hash tag of one of these slots: the same wherever and whenever the node has them."""
        return next(f"{{n{number}}}" for number in count() if key_slot(b"n%d" % number) in self)


def primaries(session: RedisSession) -> list[tuple[str, int, Slots]]:
    """Address and slots of each primary, in the order of their first slots. Raises ``TransactionError``."""
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for low, high, (host, port, *_), *_ in sorted(session.command("CLUSTER", "SLOTS")):
        found.setdefault(((host or b"").decode(), port), []).append((low, high))
    return [(host, port, Slots(tuple(ranges))) for (host, port), ranges in found.items()]


class RedisClusterSession:
    """A connection to each primary, for one process and one thread. Contract: :class:`hdbkit.contracts.Session`."""

    def __init__(self, nodes: Sequence[RedisSession], slots: Sequence[Slots]) -> None:
        self.nodes, self._slots = tuple(nodes), tuple(slots)
        self._first = self.nodes[0]
        self.scope: Scope = self._first.scope
        self.library, self.common = self._first.library, self._first.common
        self._of_key: dict[bytes, RedisSession] = {}
        self._keys: dict[str, Word] = {}

    def client_path(self) -> str:
        """The driver's, to that many nodes."""
        return f"{self._first.client_path()} to {len(self.nodes)} nodes"

    def parameters(self, operation: str) -> tuple[str, ...]:
        """The names that the script declares."""
        return self._first.parameters(operation)

    def command(self, *words: str | bytes | int) -> Any:
        """The reply of the first node, which has what a schema has once. Raises ``TransactionError``."""
        return self._first.command(*words)

    def ask(self, operation: str, /, **arguments: Any) -> list[Row]:
        """The answers of all nodes as the script combines them; without such a statement that of the first node."""
        if operation == "list_routines":
            return [(name,) for name in self.functions()]
        combined = self._first.find(operation).nodes
        if not combined:
            return self._first.ask(operation, **arguments)
        first, *others = ([*node.ask(operation, **arguments)] for node in self.nodes)
        if combined == "sum":
            return [tuple(map(sum, zip(*(row for rows in (first, *others) for row in rows), strict=True)))]
        if combined == "common":
            return [row for row in first if all(row in rows for rows in others)]
        return [row for rows in (first, *others) for row in rows]

    def load_functions(self, names: Iterable[str], reading: frozenset[str]) -> None:
        """Load the functions on each primary."""
        given = [*names]
        for node in self.nodes:
            node.load_functions(given, reading)

    def functions(self) -> list[str]:
        """The names of the schema's functions that are on every primary."""
        return sorted(set[str].intersection(*(set(node.functions()) for node in self.nodes)))

    def prepare(self, operations: Iterable[str]) -> None:
        """Prepare functions on each node."""
        for name in operations:
            statement = self._first.find(name)
            positions = {word: position for position, word in enumerate(statement.parameters)}
            self._keys[name] = Word(statement.key, positions)
            for node in self.nodes:
                node.prepare([name])

    def bind(self, operation: str, arguments: Arguments) -> tuple[RedisSession, BoundScript]:
        """The node of the operation's key, and the command's bytes."""
        node = self._at(self._keys[operation].filled([encoded(value) for value in arguments]))
        return node, node.bind(operation, arguments)

    def perform(self, bound: tuple[RedisSession, BoundScript]) -> Raw:
        """Perform one whole function on its node."""
        node, command = bound
        return node.perform(command)

    def rows(self, raw: Raw) -> list[Row]:
        """Convert the JSON of a result to plain values."""
        return self._first.rows(raw)

    def load(self, table: Table, chunks: Iterable[bytes]) -> int:
        """Load each row on its node, and what has no hash tag on every node; the number of rows."""
        lines = self._first.find(f"load_{table.name}").text.splitlines()
        tagged = Loader(table.name, [line for line in lines if is_tagged(line)], table.columns, self._first.prefix)
        untagged = [line for line in lines if not is_tagged(line)]
        common = [Loader(table.name, untagged, table.columns, node.common) for node in self.nodes]
        rows = 0
        for chunk in chunks:
            at: dict[RedisSession, list[bytes]] = {node: [] for node in self.nodes}
            for key, command in tagged.keyed(chunk):
                at[self._at(key)].append(command)
            for node, loader in zip(self.nodes, common, strict=True):
                at[node] += [command for _, command in loader.keyed(chunk)]
                node.send(at[node])
            rows += chunk.count(b"\n")
        for node in self.nodes:
            node.settle()
        return rows

    def _at(self, key: bytes) -> RedisSession:
        """The node of the slot of a key, by its hash tag."""
        tag = key[key.index(b"{") + 1 : key.index(b"}")]
        if tag not in self._of_key:
            slot = key_slot(tag)
            holders = (node for node, slots in zip(self.nodes, self._slots, strict=True) if slot in slots)
            self._of_key[tag] = next(holders)
        return self._of_key[tag]

    def close(self) -> None:
        for node in self.nodes:
            node.close()
