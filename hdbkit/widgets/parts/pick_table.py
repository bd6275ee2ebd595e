"""A table whose rows are selected by click or key and whose heads sort; Python sorts and chooses what is shown."""

from __future__ import annotations

from typing import Any, ClassVar

import anywidget
import pandas as pd
import traitlets

from hdbkit.report.tables import cell
from hdbkit.widgets.parts.base import STATIC

MAX_ROWS = 200


class PickTable(anywidget.AnyWidget):
    """Shows a frame; ``picked`` has the keys of the rows that are chosen."""

    _esm: ClassVar[Any] = STATIC / "pick_table.js"
    _css: ClassVar[Any] = STATIC / "pick_table.css"
    heads = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rows = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    numeric = traitlets.List(traitlets.Bool()).tag(sync=True)
    picked = traitlets.List(traitlets.Unicode()).tag(sync=True)
    sorted_by = traitlets.Unicode("").tag(sync=True)
    descending = traitlets.Bool(False).tag(sync=True)

    def show(self, frame: pd.DataFrame, key: str, columns: list[str]) -> None:
        """Show these columns of the first ``MAX_ROWS`` rows; ``key`` is the column that names a row."""
        shown = frame.head(MAX_ROWS)
        with self.hold_sync():
            self.heads = columns
            self.numeric = [bool(pd.api.types.is_numeric_dtype(frame[column])) for column in columns]
            self.rows = [
                [str(name), *map(cell, values)]
                for name, values in zip(shown[key], shown[columns].itertuples(index=False), strict=True)
            ]
            known = set(shown[key])
            self.picked = [name for name in self.picked if name in known]
