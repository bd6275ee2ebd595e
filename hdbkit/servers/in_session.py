"""What a session of the target's own account can set for itself, and what it gets of a change on the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import zip_longest
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import Session, Setting
from hdbkit.databases import database
from hdbkit.errors import TransactionError
from hdbkit.readings import PoolMode
from hdbkit.servers.values import may_read_back_otherwise, plain_value, problem_in, same_value


def settable(target: Target, known: Mapping[str, Setting], values: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """The settings of which a session can set all these values, by trying each in a session that is then closed.

    Empty if a pooler gives the transactions of a session different connections.
    """
    engine = database(target)
    with closing(engine.connect(target)) as session:
        if engine.pooling(session, target).mode is PoolMode.TRANSACTION:
            return frozenset()
        found = {name for name in values if name in known and name not in engine.protected_settings}
        for row in zip_longest(*(values[name] for name in values)):
            wanted = {name: value for name, value in zip(values, row, strict=True) if value is not None}
            found -= {
                name for name, value in wanted.items() if name in found and not _set(session, known[name], value)
            }
            found -= set(lacking(session, known, {name: wanted[name] for name in found & wanted.keys()}))
    return frozenset(found)


def in_session_values(known: Mapping[str, Setting], settings: Mapping[str, str]) -> dict[str, str]:
    """The settings with their values in the form that the server's commands accept."""
    return {name: plain_value(known[name], value) for name, value in settings.items()}


def lacking(session: Session, known: Mapping[str, Setting], wanted: Mapping[str, str]) -> list[str]:
    """The settings that have another value than ``wanted`` in this session."""
    shown: dict[str, Any] = {row[0]: row[1] for row in session.ask("control_settings")} if wanted else {}
    return [
        name
        for name, value in wanted.items()
        if not may_read_back_otherwise(known[name], value)
        and not same_value(known[name], value, str(shown.get(name, "")))
    ]


def _set(session: Session, setting: Setting, value: str) -> bool:
    if problem_in(setting, value):
        return False
    try:
        session.ask("set_in_session", name=setting.name, value=plain_value(setting, value))
    except TransactionError:
        return False
    return True
