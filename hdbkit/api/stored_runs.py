"""The verbs that read stored runs: one of them, the latencies of several, and the list of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hdbkit.api.result import Result
from hdbkit.errors import DamagedResult
from hdbkit.execution.handle import RunHandle
from hdbkit.later import pandas as pd
from hdbkit.results.catalog import find_run, list_runs, profiles_of
from hdbkit.results.differences import configurations_of, differing_values
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Status
from hdbkit.results.run_result import Latencies
from hdbkit.workspace import BareWorkspace

if TYPE_CHECKING:
    from hdbkit.api.run_list import RunList


class ResultVerbs(BareWorkspace):
    """Verbs that read stored runs."""

    def result(self, run_id: str = "last") -> Result:
        """Read the result of a run, given by its id, a unique part of the id, a folder, or ``last``."""
        found = self
        return Result(find_run(found.results, run_id), found)

    def latencies(self, runs: str | pd.DataFrame | Sequence[str]) -> pd.DataFrame:
        """The latencies of runs in long form: a row per run, operation and quantile.

        Args:
            runs: a filter or a frame of :func:`runs`, or ids.

        Returns:
            ``name`` (of the run: its label, and what differs), ``run_id``, ``virtual_users``, ``operation``,
            ``quantile`` (``p50`` to ``p999``, ``max``, ``mean``) and ``ms`` (service time).

        Raises:
            InputError: the filter is not valid, or a run does not exist.

        Example:
            >>> p95 = hdbkit.latencies("label = 'nightly'").query("quantile == 'p95'")  # doctest: +SKIP
            >>> p95.pivot_table("ms", "operation", "virtual_users")  # doctest: +SKIP
        """
        listed = self.runs(runs) if isinstance(runs, str) else self.runs()
        if not isinstance(runs, str):
            ids = list(runs["run_id"] if isinstance(runs, pd.DataFrame) else runs)
            known = {one.run_id for one in map(self.result, ids)}
            listed = listed.loc[listed["run_id"].isin(known)]
        rows = [
            (name, run_id, users, operation, column.removesuffix("_us"), value / 1000)
            for name, run_id, users in zip(listed.names, listed["run_id"], listed["virtual_users"], strict=True)
            for operation, line in self.result(run_id).by_operation.items()
            for column in Latencies.model_fields
            if (value := getattr(line, column)) is not None
        ]
        return pd.DataFrame(rows, columns=["name", "run_id", "virtual_users", "operation", "quantile", "ms"])

    def runs(self, where: str | None = None, *, wide: bool = False, within_s: float | None = None) -> RunList:
        """List all runs, newest first; ``where`` filters by columns, such as ``virtual_users = 8``.

        With ``wide``, each option of schema or load and each setting of the server in which the listed runs differ is
        a further column (names in ``.attrs["differing"]``); ``configuration`` has all of these as a text, ``profile``
        the profile of the run. Settings that nobody changed in any run are left out, and so are the port and paths.

        Unreadable folders are omitted; ``.attrs["damaged"]`` contains one sentence for each.

        Folders that are new or changed since the last call are read first, the newest ones before others. With
        ``within_s``, this ends after that time, and ``.attrs["unread"]`` is the number of older folders that are
        left.

        The status is the present one: a run whose supervisor has died is ``abandoned``.

        Raises:
            InputError: ``where`` is not a valid filter, or names an unknown column.

        Example:
            >>> hdbkit.runs("label = 'nightly'")[["run_id", "metric_value"]]  # doctest: +SKIP
            >>> hdbkit.runs(wide=True).groupby("configuration")["metric_value"].median()  # doctest: +SKIP
        """
        from hdbkit.api.run_list import RunList  # a class of pandas

        root = self.results
        listing = list_runs(root, where, within_s=within_s)
        open_ones = listing.runs[~listing.runs["status"].isin([one.value for one in Status if one.ended])]
        for row, run_id, status in zip(open_ones.index, open_ones["run_id"], open_ones["status"], strict=True):
            listing.runs.loc[row, "status"] = _status_now(RunFolder(root / run_id), status)
        about = {"damaged": listing.damaged, "unread": listing.unread, "where": where}
        if not wide:
            listing.runs.attrs |= about
            return RunList.of(listing.runs, root, listing)
        found = differing_values(listing.runs, listing.details)
        profiles = profiles_of(listing.runs, finished=False).groupby("run_id")["profile"].first()
        more = listing.runs.join(found).assign(
            configuration=configurations_of(found), profile=listing.runs["run_id"].map(profiles)
        )
        more.attrs |= {**about, "differing": list(found.columns)}
        return RunList.of(more, root, listing)


def _status_now(folder: RunFolder, noted: str) -> str:
    try:
        return RunHandle(folder).status().value
    except DamagedResult:  # removed since it was listed
        return noted
