"""The experiment table: all runs, which the browser sorts, groups and filters; it builds only the rows in sight.

The rows go to the browser as bytes when it asks for them; they are no trait, so the notebook does not keep them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import anywidget
import numpy as np
import pandas as pd
import traitlets

from hdbkit.charts.style import palette_css
from hdbkit.in_notebook.slot import alone, background
from hdbkit.widgets.parts.base import STATIC

_SAMPLED = 300
"""Rows from which the width of a column is taken."""
_MIN_WIDTH, _MAX_WIDTH = 6, 30


class RunTable(anywidget.AnyWidget):
    """Shows a frame with the column ``run_id``; ``picked`` has the ids of the chosen rows.

    ``view`` has what the user arranged: ``columns`` (None: the automatic ones), ``sorted_by``, ``descending``,
    ``group_by``, and ``filters`` such as ``virtual_users = 8``; only the browser writes it. ``baseline`` is the id of
    the pinned run, which only Python writes.
    """

    _esm: ClassVar[Any] = STATIC / "run_table.js"
    _css: ClassVar[Any] = palette_css(".hdbkit-panel") + (STATIC / "run_table.css").read_text(encoding="utf-8")
    view = traitlets.Dict({}).tag(sync=True)
    baseline = traitlets.Unicode("").tag(sync=True)
    picked = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, outline: Callable[[str], Sequence[float]] = lambda _: ()) -> None:
        """``outline`` reads the course of a run by its id, for the column ``course`` of the rows in sight."""
        super().__init__()
        self._outline, self._outlines = outline, dict[str, Sequence[float]]()
        self._content = b"{}"
        self.frame = pd.DataFrame({"run_id": []})
        self.on_msg(self._asked)

    def show(
        self,
        frame: pd.DataFrame,
        columns: Sequence[str],
        groupings: Sequence[str],
        bars: Sequence[str] = (),
        titles: Mapping[str, str] | None = None,
    ) -> None:
        """Show a frame; ``columns`` are shown unless the user chose others, ``bars`` have a bar in each cell.

        ``titles`` are the words of columns that are not shown by their own name.
        """
        self.frame = frame
        known = set(frame["run_id"])
        self.picked = [one for one in self.picked if one in known]
        content = {
            "keys": frame["run_id"].tolist(),
            "automatic": list(columns),
            "groupings": list(groupings),
            "columns": [
                {**_column(str(name), values, name in bars), "title": (titles or {}).get(str(name), "")}
                for name, values in frame.items()
            ],
        }
        self._content = json.dumps(content, allow_nan=False).encode()
        self._send_rows()

    def _asked(self, _: Any, content: Any, __: Any) -> None:
        if content == {"kind": "hello"}:
            alone(self._send_rows)
        elif isinstance(content, dict) and content.get("kind") == "outlines":
            background(lambda: self._send_outlines([str(one) for one in content.get("keys", ())]), "hdbkit-outlines")

    def _send_outlines(self, run_ids: Sequence[str]) -> None:
        """Send the courses of these runs; those of runs that have ended are read once."""
        found = {}
        for run_id in set(run_ids) & set(self.frame["run_id"]):
            found[run_id] = self._outlines.get(run_id) or self._outline(run_id)
        self._outlines |= {run_id: points for run_id, points in found.items() if points}
        self.send({"kind": "outlines"}, [json.dumps(found).encode()])

    def _send_rows(self) -> None:
        self.send({"kind": "runs"}, [self._content])


def _column(name: str, values: pd.Series[Any], bar: bool) -> dict[str, Any]:
    """A column with its distinct values, and for each row the place of its value among them."""
    numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    places, distinct = pd.factorize(values)
    texts = [_value(one) for one in distinct.tolist()]
    if -1 in places:
        texts.append(None)
        places = np.where(places < 0, len(distinct), places)
    longest = max((len(_sample(texts[one])) for one in np.unique(places[:_SAMPLED]).tolist()), default=0)
    width = min(max(_MIN_WIDTH, len(name), longest), _MAX_WIDTH)
    one_each = np.array_equal(places, np.arange(len(places)))
    return {
        "name": name, "numeric": numeric, "bar": bar, "width": width,
        "distinct": texts, "places": None if one_each or len(texts) == 1 else places.tolist(),
    }  # fmt: skip


def _value(value: Any) -> Any:
    """A value for JSON; None for an unknown one."""
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, int | float | str) else str(value)


def _sample(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
