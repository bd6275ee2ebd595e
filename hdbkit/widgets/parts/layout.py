"""Rows, grids, buttons and small tables that look alike in every panel and fit narrow and wide pages."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence

import ipywidgets

from hdbkit.analysis.wording import many
from hdbkit.config import Target, WorkloadSpec

LABELS = {"description_width": "92px"}
"""The style of a field in a grid: labels of one width."""


def grid(*children: ipywidgets.Widget, least_width_px: int = 270) -> ipywidgets.Widget:
    """Fields side by side, as many in a line as fit."""
    columns = f"repeat(auto-fill, minmax(min({least_width_px}px, 100%), 1fr))"
    layout = ipywidgets.Layout(display="grid", grid_template_columns=columns, grid_gap="2px 16px", width="100%")
    return ipywidgets.GridBox(children, layout=layout).add_class("hdbkit-grid")


def row(*children: ipywidgets.Widget) -> ipywidgets.Widget:
    """Buttons and notes in a line, which breaks where the page is narrow."""
    layout = ipywidgets.Layout(flex_flow="row wrap", align_items="center", width="100%")
    return ipywidgets.HBox(children, layout=layout).add_class("hdbkit-row")


def button(text: str, action: Callable[..., None], *, style: str = "", hint: str = "") -> ipywidgets.Button:
    """A button as wide as its text; ``style`` is one of ipywidgets' (primary, danger, ...)."""
    made = ipywidgets.Button(
        description=text, button_style=style, tooltip=hint or text, layout=ipywidgets.Layout(width="auto")
    )
    made.on_click(action)
    return made


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table as HTML; every value is escaped."""
    top = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in heads)
    lines = "".join(f"<tr>{''.join(f'<td>{html.escape(str(value))}</td>' for value in one)}</tr>" for one in rows)
    told = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f'<div class="hdbkit-table"><table>{told}<thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def target_code(target: Target | None) -> str:
    """The Python expression that gives a target again, without a password."""
    if target is None:
        return '"kind://user@host:port/database"'
    if target.server_folder is not None:
        return f'hdbkit.api.private("{target.kind}")'
    return f'"{target.given}"'


def warehouses(spec: WorkloadSpec) -> str:
    """The scale in words: ``1 warehouse``, ``10 warehouses``."""
    return many(spec.warehouses, "warehouse")
