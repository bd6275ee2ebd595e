"""One row of the server's list of settings, as a session sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hdbkit.contracts import ApplyBy, Session, Setting
from hdbkit.errors import TransactionError


@dataclass(frozen=True)
class SettingRow:
    """A setting in a session: its shown value, what overrides the server's value, whether a restart is pending."""

    setting: Setting
    shown: str
    winner: str | None
    waiting: bool


def tried(session: Session, name: str) -> ApplyBy:
    """What it takes to change a setting, for servers that report it only in the error of a failed SET command."""
    try:
        session.ask("try_setting", name=name)
    except TransactionError as error:
        if f"'{name}'" in error.text:
            return ApplyBy.RESTART
    return ApplyBy.RELOAD


def setting_row(row: Sequence[Any], found: Mapping[str, ApplyBy]) -> SettingRow:
    """Parse a row of ``control_settings``; ``found`` completes rows that do not state how a change is applied."""
    name, value, unit, default, apply_by, low, high, choices, kind, text, shown, winner, waiting = row
    listed = choices.split(",") if isinstance(choices, str) else choices or ()
    needs = ApplyBy(apply_by) if apply_by is not None else found[name]
    setting = Setting(
        name=name,
        value=_text(value),
        unit=unit,
        default=None if default is None else str(default),
        apply_by=needs,
        minimum=float(low) if low is not None else None,
        maximum=float(high) if high is not None else None,
        choices=tuple(listed),
        kind=kind,
        description=text or "",
    )
    return SettingRow(setting, _text(shown), winner, bool(waiting) and needs is ApplyBy.RESTART)


def _text(value: object) -> str:
    """A value as text, whatever type the driver returned."""
    return "" if value is None else str(value)
