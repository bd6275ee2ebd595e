"""Trial of settings by the server's own program, before a sweep: would the server start with them?

No server is started. A trial needs programs of the server's version on this host, and covers only settings that need
a restart; texts are omitted, because they may name files or libraries of another host.

A session of the target's own account is asked, too: what it can set for itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import zip_longest
from typing import Any

from hdbkit.config import Target
from hdbkit.contracts import ApplyBy, Session, Setting
from hdbkit.databases import database
from hdbkit.errors import ServerFailed, TransactionError
from hdbkit.readings import PoolMode
from hdbkit.servers.place import Binaries
from hdbkit.servers.values import may_read_back_otherwise, plain_value, problem_in, same_value

_TRIED = ("bool", "enum", "integer", "real", "size")
MAX_TRIED = 200
"""A trial takes some 30 ms; those beyond are tried by the server itself, in their runs."""


def trial_errors(
    kind: str, version: str, known: Mapping[str, Setting], configurations: Sequence[Mapping[str, str]]
) -> list[str]:
    """One sentence for each configuration with which a server of this ``version`` would not start."""
    asked = {tuple(_at_start(one, known).items()): None for one in configurations}
    wanted = [dict(one) for one in asked if one][:MAX_TRIED]
    binaries = _programs(kind, version) if wanted else None
    if binaries is None:
        return []
    from hdbkit.servers import launcher

    present = {
        one.name: one.value
        for one in known.values()
        if _is_tried(one) and one.default is not None and not same_value(one, one.default, one.value)
    }
    try:
        with launcher(kind).trial(binaries, present) as error_with:
            if error_with({}):  # its present settings do not fit these programs, so that the trial proves nothing
                return []
            found = [(one, error_with(one)) for one in wanted]
    except ServerFailed:
        return []
    return [f"the server would not start with {_listed(one)}: {reason}" for one, reason in found if reason]


def _at_start(configuration: Mapping[str, str], known: Mapping[str, Setting]) -> dict[str, str]:
    """The values of a configuration that are tried."""
    return {
        name: plain_value(known[name], value)
        for name, value in configuration.items()
        if name in known and _is_tried(known[name]) and problem_in(known[name], value) is None
    }


def _is_tried(setting: Setting) -> bool:
    return setting.apply_by is ApplyBy.RESTART and setting.kind in _TRIED


def _programs(kind: str, version: str) -> Binaries | None:
    """The programs of exactly this version on this host; None if there are none."""
    from hdbkit.servers import launcher, startable_kinds

    number = re.search(r"\d+(\.\d+)*", version)
    found = launcher(kind).find() if kind in startable_kinds() and number else []
    return next((one for one in found if number and one.version == number[0]), None)


def _listed(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


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
            found -= set(settings_lacking(session, known, {name: wanted[name] for name in found & wanted.keys()}))
    return frozenset(found)


def in_session_values(known: Mapping[str, Setting], settings: Mapping[str, str]) -> dict[str, str]:
    """The settings with their values in the form that the server's commands accept."""
    return {name: plain_value(known[name], value) for name, value in settings.items()}


def settings_lacking(session: Session, known: Mapping[str, Setting], wanted: Mapping[str, str]) -> list[str]:
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
