"""Options on how servers are prepared before each run of an experiment."""

from __future__ import annotations

from typing import Annotated

import typer

from hdbkit.config import Preparation
from hdbkit.config import Reset as Resets

Reset = Annotated[Resets | None, typer.Option(help="reset of the data before each run [auto]")]
CooldownS = Annotated[
    float | None, typer.Option(min=0, help="maximum cooldown before each run, in seconds [10 or the window]")
]


def preparation(reset: Resets | None, cooldown_s: float | None) -> Preparation:
    """The preparation that these options ask for."""
    return Preparation(reset=reset or Resets.AUTO, cooldown_s=cooldown_s)
