"""Experiments that end when they are decided, not after a number of blocks."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from hdbkit.config.model import ConfigModel
from hdbkit.errors import InputError

MAX_UNTIL_DECIDED: Final = 60
"""The maximum number of blocks where no other is given."""


class UntilDecided(ConfigModel):
    """The experiment ends after the block that decides all of its verdicts, or when its time is over."""

    within_s: float | None = Field(
        default=None,
        gt=0,
        description="maximum duration in seconds; it ends before a block that exceeds it, after two at the earliest",
    )


def until_decided_of(until_decided: bool, within_s: float | None) -> UntilDecided | None:
    """What these arguments ask for; None: a number of blocks. Raises ``InputError`` for a duration alone."""
    if within_s is not None and not until_decided:
        raise InputError("a maximum duration needs until_decided (--until-decided); else give a number of blocks")
    return UntilDecided(within_s=within_s) if until_decided else None
