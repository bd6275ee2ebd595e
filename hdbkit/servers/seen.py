"""One row of the server's list of its settings, as a session sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hdbkit.contracts import ApplyBy, Session, Setting
from hdbkit.errors import TransactionError


@dataclass(frozen=True)
class Seen:
    """A setting as a session sees it: how it is shown, what wins over the server's value, whether it waits."""

    setting: Setting
    shown: str
    winner: str | None
    waiting: bool


def tried(session: Session, name: str) -> ApplyBy:
    """What a setting needs, of a server that tells it only when asked to set it, by a command that always fails."""
    try:
        session.ask("try_setting", name=name)
    except TransactionError as refused:
        if f"'{name}'" in refused.text:
            return ApplyBy.RESTART
    return ApplyBy.RELOAD


def seen(row: Sequence[Any], found: Mapping[str, ApplyBy]) -> Seen:
    """A row of ``control_settings``; ``found`` has what was tried of the settings whose row does not tell it."""
    name, value, unit, default, apply_by, low, high, choices, kind, text, shown, winner, waiting = row
    listed = choices.split(",") if isinstance(choices, str) else choices or ()
    needs = ApplyBy(apply_by) if apply_by is not None else found[name]
    setting = Setting(
        name=name,
        value=value if value is not None else "",
        unit=unit,
        default=default,
        apply_by=needs,
        minimum=float(low) if low is not None else None,
        maximum=float(high) if high is not None else None,
        choices=tuple(listed),
        kind=kind,
        description=text or "",
    )
    return Seen(setting, shown if shown is not None else "", winner, bool(waiting) and needs is ApplyBy.RESTART)
