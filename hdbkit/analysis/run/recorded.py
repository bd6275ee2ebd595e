"""Whether sessions that the server saw at work were executing an operation of the records.

Throughput times cycle time is the number of users whatever the records are: who loses some of them adds their time to
the time between two operations. The samples of the server's sessions are another count: a session that works or waits
while its user has no operation at any moment of the question executes one that is not recorded. Operations that are
shorter than a question to the server cannot be missed in this way.
"""

from __future__ import annotations

from dataclasses import dataclass

from hdbkit.analysis.run.records import Window, operations_of, table
from hdbkit.analysis.run.waits import CLIENT, SAMPLER
from hdbkit.results.folder import RunFolder

_RECORDS = "records"


@dataclass(frozen=True)
class SeenSessions:
    """Samples in which a session of the load worked or waited, and those of them without an operation."""

    active: int
    without: int


def seen_without_operation(folder: RunFolder, window: Window) -> SeenSessions | None:
    """The samples of a window; None where none were taken, or their moments are not known.

    Raises:
        DamagedResult: a table cannot be read.
    """
    rows = table(folder, "waits")
    if rows is None or "t_returned_us" not in rows:
        return None
    inside = rows["t_us"].between(window.start_us, window.end_us, inclusive="left")
    own = (rows["virtual_user"] >= 0) & ~rows["class"].isin([SAMPLER, CLIENT])
    asked = rows.loc[inside & own, ["virtual_user", "t_us", "t_returned_us"]].reset_index(drop=True)
    if asked.empty:
        return None
    with operations_of(folder) as records:
        relation = records.query(
            _RECORDS,
            "SELECT count(*) FILTER (records.t_end_us IS NULL OR records.t_end_us < asked.t_us) "
            "FROM asked ASOF LEFT JOIN records "
            "ON asked.virtual_user = records.virtual_user AND asked.t_returned_us >= records.t_start_us",
        )
        assert relation is not None
        ((without,),) = relation.fetchall()
    return SeenSessions(len(asked), int(without))
