"""Which address of a target performs an operation: ``round_robin`` for all, or ``payment: last; others: random``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from hdbkit.config.problems import did_you_mean
from hdbkit.config.written import Written

OTHER_OPERATIONS = "others"
"""In place of the operations that are not named."""


class Policy(StrEnum):
    """How a virtual user chooses the address for an operation. The nodes begin with the target's own address."""

    FIRST = "first"
    LAST = "last"
    ROUND_ROBIN = "round_robin"
    RANDOM = "random"
    REPLICA = "replica"


POLICIES = (
    "first: the target's own address, last: its last node, round_robin: its nodes in turn, random: a node at random, "
    "replica: one replica per user"
)
_EXAMPLES = "'round_robin', or 'payment: last; others: random'"


@dataclass(frozen=True)
class Routing(Written):
    """The policy by operation; ``OTHER_OPERATIONS`` is for those that are not named.

    Example:
        >>> str(Routing.read({"payment": "last", "others": "random"}))
        'payment: last; others: random'
    """

    policies: Mapping[str, Policy]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read one policy for all operations, or pairs separated by semicolons. Raises ``ValueError``."""
        if text.strip() and ":" not in text:
            return cls.read({OTHER_OPERATIONS: text})
        return cls.read(dict(_pair(one) for one in text.split(";") if one.strip()))

    @classmethod
    def read(cls, given: Any) -> Self:
        """Policies, a text, or a mapping. Raises ``ValueError``."""
        if not isinstance(given, Mapping):
            return super().read(given)
        if not given:
            raise ValueError(f"it names no policy; write {_EXAMPLES}, or omit it")
        return cls({str(name).strip(): _policy(str(policy).strip()) for name, policy in given.items()})

    def __str__(self) -> str:
        return "; ".join(f"{name}: {policy.value}" for name, policy in self.policies.items())


def _pair(text: str) -> tuple[str, str]:
    name, colon, policy = text.partition(":")
    if not colon:
        raise ValueError(f"'{text.strip()}' has no policy; write {_EXAMPLES}")
    return name.strip(), policy


def _policy(text: str) -> Policy:
    known = [one.value for one in Policy]
    if text not in known:
        raise ValueError(f"'{text}' is not a policy; write {_EXAMPLES}.{did_you_mean(text, known)}")
    return Policy(text)
