"""The figure that all charts are; a class of plotly's, so that importing this module imports plotly."""

from __future__ import annotations

from typing import Any

from hdbkit.charts.style import CONFIG
from hdbkit.later import graph_objects as go


class PlainFigure(go.Figure):  # type: ignore[misc]  # plotly has no types
    """plotly's figure, without its logo and its buttons that lead to another host, unless a caller wants them.

    plotly gets a copy of the configuration, as it removes keys from what it is given.
    """

    def show(self, *args: Any, **options: Any) -> None:
        """Show it with plotly's default renderer."""
        super().show(*args, **{"config": {**CONFIG}, **options})

    def _ipython_display_(self) -> None:
        self.show()

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        return super()._repr_mimebundle_(*args, **{"config": {**CONFIG}, **options})

    def to_html(self, *args: Any, **options: Any) -> str:
        """Give the figure as HTML."""
        return str(super().to_html(*args, **{"config": {**CONFIG}, **options}))
