"""Sliders for the shares of a mix, which always add up to the whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets

from hdbkit.text import plural
from hdbkit.widgets.parts.layout import button, grid, row

WHOLE = 1000
"""100 % in tenths: whole numbers, so that a sum is exact."""


def balanced(tenths: Mapping[str, int], moved: str) -> dict[str, int]:
    """The mix after one part was moved: the others share the rest in the proportion that they had.

    Where the others were all 0, they share it evenly. The sum is exactly ``WHOLE``.
    """
    rest = WHOLE - tenths[moved]
    weights = {name: part for name, part in tenths.items() if name != moved}
    if not any(weights.values()):
        weights = dict.fromkeys(weights, 1)
    return {**dict.fromkeys(tenths, tenths[moved]), **shared_out(weights, rest)}


def shared_out(weights: Mapping[str, float], whole: int) -> dict[str, int]:
    """``whole`` in integers, in proportion to ``weights``; the rest from rounding goes to the largest remainders."""
    total = sum(weights.values())
    exact = {name: whole * weight / total for name, weight in weights.items()}
    parts = {name: int(part) for name, part in exact.items()}
    by_remainder = sorted(exact, key=lambda name: parts[name] - exact[name])
    for name in by_remainder[: whole - sum(parts.values())]:
        parts[name] += 1
    return parts


class MixSliders:
    """Sliders for a mix; ``mix`` is None until a user moves one, then weights in percent."""

    def __init__(self, weights: Mapping[str, float], noun: str) -> None:
        self._own = dict(weights)
        self._moved = self._moving = False
        self.sliders = {
            name: ipywidgets.FloatSlider(
                description=name.replace("_", " "), min=0, max=100, step=0.1, readout_format=".1f",
                continuous_update=False, style={"description_width": "148px"}, layout=ipywidgets.Layout(width="auto"),
            )
            for name in (weights if len(weights) > 1 else ())
        }  # fmt: skip
        for name, slider in self.sliders.items():
            slider.observe(lambda _, name=name: self._slid(name), "value")
        self.reset = button(
            "Default mix", lambda _: self.show(self._own, None), hint=f"default weights of {plural(noun)}"
        )
        self.widget = ipywidgets.VBox([grid(*self.sliders.values(), min_width_px=300), row(self.reset)])
        self.show(weights, None)

    @property
    def mix(self) -> dict[str, float] | None:
        """The weights in percent; None: the workload's own."""
        return {name: slider.value for name, slider in self.sliders.items()} if self._moved else None

    def show(self, weights: Mapping[str, float], mix: Mapping[str, float] | None) -> None:
        """Set the sliders to ``mix``, or to the workload's own ``weights`` if it is None."""
        self._own, self._moved = dict(weights), mix is not None
        if not self.sliders:
            return
        self._put(shared_out(weights if mix is None else {name: mix.get(name, 0.0) for name in weights}, WHOLE))

    def observe(self, action: Any) -> None:
        """Call ``action`` whenever the mix may have changed."""
        for slider in self.sliders.values():
            slider.observe(action, "value")

    def _slid(self, name: str) -> None:
        if not self._moving:
            self._moved = True
            self._put(balanced({name: round(10 * slider.value) for name, slider in self.sliders.items()}, name))

    def _put(self, tenths: Mapping[str, int]) -> None:
        self._moving = True
        try:
            for name, part in tenths.items():
                self.sliders[name].value = part / 10
        finally:
            self._moving = False
