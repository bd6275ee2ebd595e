"""TPROC-H's own part of a specification and of a load: scale, indexes, and which queries run how often."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final, Literal

from pydantic import Field, field_validator

from hdbkit.config.load import Load
from hdbkit.config.problems import did_you_mean
from hdbkit.config.workload_spec import CreatedBy, SchemaFrom, WorkloadSpec

QUERIES: Final = tuple(f"q{number:02d}" for number in range(1, 23))
REFRESHES: Final = ("rf1", "rf2")
UPDATE_SETS: Final = 1000
"""The number of update sets for the refresh functions; each replaces 0.1 % of the orders."""


class Indexes(StrEnum):
    """The indexes of a schema."""

    ALL = "all"
    HAMMERDB = "hammerdb"
    KEYS = "keys"
    NONE = "none"


class Refreshing(StrEnum):
    """Whether the refresh functions run, and what becomes of their changes."""

    OFF = "off"
    UNDONE = "undone"
    KEPT = "kept"


class TprocHSpec(WorkloadSpec):
    """A TPROC-H schema: its scale factor, and its indexes.

    Example:
        >>> TprocHSpec(scale_factor=0.1).scale_factor
        0.1
    """

    scale_field: ClassVar[str] = "scale_factor"

    kind: Literal["tproc_h"] = Field(default="tproc_h", description="the workload: tproc_h (analytic)")
    scale_factor: float = Field(
        default=1, ge=0.01, le=100_000, description="scale: 1 is about 1 GB of text, in 8.7 million rows"
    )
    schema_from: CreatedBy = SchemaFrom.HDBKIT
    indexes: Indexes = Field(
        default=Indexes.ALL,
        description="all: keys, foreign keys, dates; hammerdb: what HammerDB indexes; keys: keys alone; none",
        json_schema_extra={"after_load": True},
    )

    @property
    def slug(self) -> str:
        """A short form for run ids: ``h-sf10``."""
        return f"h-sf{self.scale_factor:g}"


class TprocHLoad(Load):
    """The load of TPROC-H: each virtual user is a stream, which runs the queries in an order of its own.

    With refresh functions, one user alone runs them before and after its queries; of several, the last runs only
    them.

    Example:
        >>> TprocHLoad(queries="q01,q06").selected
        ('q01', 'q06')
    """

    query_sets: int = Field(
        default=1, ge=1, le=10_000, description="number of times that each stream runs the queries"
    )
    queries: str | None = Field(default=None, description="the queries that run, such as q01,q06; none: all 22")

    refresh: Refreshing = Field(
        default=Refreshing.OFF,
        description="refresh functions RF1 and RF2: off; undone: their changes are undone after the run; kept",
    )
    refresh_pairs: int | None = Field(
        default=None,
        ge=1,
        le=UPDATE_SETS,
        description="pairs of refresh functions of several streams; none: one for each set of queries of each stream",
    )
    refresh_pause_s: float = Field(
        default=0.0,
        ge=0,
        le=60,
        description="pause of the stream of refresh functions between two pairs, in seconds: a trickle of changes",
    )
    update_set: int = Field(default=1, ge=1, le=UPDATE_SETS, description="the first update set of refresh functions")

    @field_validator("queries")
    @classmethod
    def _queries_are_known(cls, text: str | None) -> str | None:
        for name in text.split(",") if text is not None else ():
            if name.strip() not in QUERIES:
                raise ValueError(f"there is no query '{name.strip()}' (q01 to q22).{did_you_mean(name, QUERIES)}")
        return text

    @property
    def selected(self) -> tuple[str, ...]:
        """The queries that run."""
        names = () if self.queries is None else self.queries.split(",")
        return tuple(dict.fromkeys(one.strip() for one in names)) or QUERIES

    @property
    def refreshes(self) -> bool:
        """Whether the refresh functions run; a load that only reads has none."""
        return self.refresh is not Refreshing.OFF and not self.read_only

    @property
    def query_streams(self) -> int:
        """The number of users that run queries."""
        return self.virtual_users - (1 if self.refreshes and self.virtual_users > 1 else 0)

    @property
    def update_sets(self) -> range:
        """The update sets that the refresh functions apply."""
        sets = self.query_streams * self.query_sets
        pairs = self.refresh_pairs or sets if self.virtual_users > 1 else sets
        return range(self.update_set, self.update_set + pairs) if self.refreshes else range(0)

    def stream_of(self, index: int) -> int:
        """The stream of a virtual user: 0 of one alone and of one that runs only refresh functions."""
        return index + 1 if index < self.query_streams and self.virtual_users > 1 else 0

    def refreshes_in(self, index: int) -> bool:
        """Whether a virtual user runs the refresh functions: one alone, or the last of several."""
        return self.refreshes and (self.virtual_users == 1 or index == self.query_streams)

    def sets_of(self, index: int) -> range:
        """The numbers of a virtual user's sets: of update sets if it runs them, else of its query sets."""
        return self.update_sets if self.refreshes_in(index) else range(1, self.query_sets + 1)
