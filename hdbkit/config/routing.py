"""Which address of a target performs an operation: ``round_robin`` for all, or ``payment: last; others: random``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from hdbkit.config.problems import did_you_mean

OTHERS = "others"
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


def parse_routing(given: str | Mapping[str, Any]) -> dict[str, Policy]:
    """The policy by operation; ``OTHERS`` is for those that are not named. Raises ``ValueError``."""
    if isinstance(given, str) and given.strip() and ":" not in given:
        given = {OTHERS: given}
    if isinstance(given, str):
        given = dict(_pair(one) for one in given.split(";") if one.strip())
    if not given:
        raise ValueError(f"it names no policy; write {_EXAMPLES}, or omit it")
    return {str(name).strip(): _policy(str(policy).strip()) for name, policy in given.items()}


def routing_text(given: str | Mapping[str, Any]) -> str:
    """The policies as one text.

    Example:
        >>> routing_text({"payment": "last", "others": "random"})
        'payment: last; others: random'
    """
    return "; ".join(f"{name}: {policy.value}" for name, policy in parse_routing(given).items())


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
