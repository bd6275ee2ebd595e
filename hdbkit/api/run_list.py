"""The frame of ``hdbkit.runs()``, which a notebook shows as the list of runs."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path

from hdbkit.analysis.run.courses import outline
from hdbkit.later import pandas as pd
from hdbkit.report.run_list import BASELINE, run_list
from hdbkit.results.catalog import Listing
from hdbkit.results.differences import differing_values, short_names
from hdbkit.results.folder import RunFolder
from hdbkit.text import many

_MAX_SHOWN = 20
"""The newest runs that are shown of more than pandas' ``display.max_rows``."""
_NEEDED = frozenset({
    "run_id", "started", "status", "database", "version", "workload", "virtual_users", "metric", "metric_value",
    "p95_us", "checks_failed", "label", "experiment_id",
})  # fmt: skip
"""The columns that the list is made of."""


class RunList(pd.DataFrame):
    """A row per run, newest first; see :func:`hdbkit.runs`. A notebook shows it with bars, courses and ages.

    Frames that are made of it are shown alike while they have the columns for it.
    """

    _metadata = ["_root", "_listing"]  # noqa: RUF012 - pandas reads it

    @classmethod
    def of(cls, runs: pd.DataFrame, root: Path, listing: Listing) -> RunList:
        """The frame of runs in the results folder ``root``, as the catalog listed them."""
        made = cls(runs)
        made.attrs |= runs.attrs
        object.__setattr__(made, "_root", root)
        object.__setattr__(made, "_listing", listing)
        return made

    @property
    def _constructor(self) -> type[RunList]:
        return RunList

    @property
    def baseline(self) -> str:
        """The id of the run with the tag ``baseline``, which lists compare others with; the newest, or empty."""
        tagged = self.loc[self["tags"].str.contains(f'"{BASELINE}"', regex=False), ["run_id", "tags"]]
        return next((str(run) for run, tags in tagged.itertuples(index=False) if BASELINE in json.loads(tags)), "")

    @property
    def names(self) -> pd.Series[str]:
        """A name for each run: its label, and what differs between the runs of this frame; not always unique."""
        return short_names(pd.DataFrame(self), self._differences).set_axis(self.index)

    @property
    def _differences(self) -> pd.DataFrame:
        """The options and settings in which the runs of this frame differ."""
        listing: Listing = getattr(self, "_listing")  # noqa: B009 - pandas takes an attribute for a column
        details = listing.details.set_axis(pd.Index(listing.runs["run_id"])).loc[list(self["run_id"])]
        return differing_values(pd.DataFrame(self)[[*listing.runs.columns]], details.set_axis(self.index))

    def html(self, link: Callable[[str], str] = lambda _: "", note: str = "", dated: bool = False) -> str:
        """The list as HTML without script.

        ``link`` gives the page of a run by its id, ``note`` is a line below; ``dated`` shows dates instead of ages.
        """
        root: Path = getattr(self, "_root")  # noqa: B009
        everything = getattr(self, "_listing").runs  # noqa: B009
        outlines = {str(one): outline(RunFolder(root / str(one))) for one in self["run_id"]}
        pinned = everything[everything["run_id"] == RunList(everything).baseline]
        baseline = pinned.iloc[0] if len(pinned) else None
        return run_list(
            pd.DataFrame(self), self._differences, outlines, link=link, baseline=baseline, note=note, dated=dated
        )

    def _repr_html_(self) -> str:
        if not hasattr(self, "_listing") or not self.columns.is_unique or not set(self.columns) >= _NEEDED:
            return str(pd.DataFrame(self).to_html(max_rows=_MAX_SHOWN))
        if self.empty:
            return f"<p>{html.escape(self._none)}</p>"
        shown = self if len(self) <= pd.get_option("display.max_rows") else self.head(_MAX_SHOWN)
        more = f"the first {len(shown)} of {many(len(self), 'run')}; all of them: hdbkit.ui()"
        return shown.html(note=more if len(shown) < len(self) else many(len(self), "run"))

    def __repr__(self) -> str:
        return self._none if self.empty and set(self.columns) >= _NEEDED else super().__repr__()

    @property
    def _none(self) -> str:
        if where := self.attrs.get("where"):
            return f"No run matches the filter: {where}"
        return "There are no runs. Start one: hdbkit.run(TARGET), or hdbkit.demo() without a server of your own."
