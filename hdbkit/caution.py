"""Warnings as values: a sentence, and the kind of thing that it warns of, with its effect and what to do.

A warning is made where its cause is found, and stays one in manifests, results and reports; what reads it as text has
the sentence.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self

_WORDS = 6


class Kind(StrEnum):
    """What a warning is about: in six words at most, its effect, and what to do; the worst is first."""

    # fmt: off
    CHECK = "failed check", "a check failed", "the result is not reliable", "find the cause, and repeat the run"
    UNRESTORED = (
        "unrestored", "settings of the sweep still apply",
        "the next run measures other settings", "resume the sweep, which restores them",
    )
    CHANGED = "changed", "a setting changed outside the sweep", "the server is not as it was before", "set it"
    EVICTED = (
        "evicted", "the server evicted rows",
        "operations on missing rows are fast or fail", "raise maxmemory, and build the schema again",
    )
    ROUNDED = (
        "rounded", "the server rounded a setting",
        "another value than the asked one was measured", "ask for a multiple of the server's step",
    )
    SCHEMA = (
        "schema", "the schema changed during the run",
        "its parts measured different plans or work", "run again, and leave the schema as it is meanwhile",
    )
    SIMULTANEOUS = (
        "simultaneous", "another run used the schema, too",
        "each includes the other's load", "run one at a time",
    )
    OTHER_WORK = (
        "other work", "the sides did different work",
        "the ratio includes the other work", "compare runs with the same workload and load",
    )
    ZERO = (
        "zero", "a metric is 0",
        "the ratio is a bound", "look at the errors and waits of the run",
    )
    RATE = (
        "rate", "a rate decides the throughput",
        "the throughput says nothing about the server", "compare latencies, or use a closed loop",
    )
    OTHER_HOSTS = (
        "other hosts", "the clients ran on different hosts",
        "the ratio includes the hosts", "measure both sides from one host",
    )
    CLIENT_CODE = (
        "client code", "the sides used different client code",
        "each latency includes its client", "use the same client for both",
    )
    OTHER_TOOL = (
        "other tool", "another tool measured this",
        "its figures count differently", "compare runs of one tool",
    )
    STANDSTILL = (
        "standstill", "the load stood still",
        "the mean includes the pause", "find what held it; repeat the run",
    )
    RESTART = "restart", "the server restarted during a run", "the result includes its recovery", "repeat the run"
    MOVED = "moved", "another server took over", "counters of the first are missing", "repeat the run"
    FAILED_RUNS = (
        "failed runs", "some runs failed",
        "they are not counted; intervals are wider", "resume the experiment",
    )
    FAILED_OPERATIONS = (
        "failed operations", "some operations failed",
        "what fails is often fast", "look at the errors of the run",
    )
    LEFT_OUT = (
        "left out", "some operations are left out",
        "the metric covers fewer operations", "repeat the runs that lack them",
    )
    UNUSED_SLICES = (
        "unused slices", "a run's slices are not used",
        "the result is made of fewer runs", "repeat the run",
    )
    STEAL = (
        "steal", "other machines took CPU time",
        "throughput is lower and varies", "use a host with cores of its own",
    )
    SERVER_STEAL = (
        "server steal", "other machines took the server's CPU",
        "throughput is lower and varies", "use a host with cores of its own",
    )
    OTHERS = (
        "others", "other processes used the load host",
        "throughput is lower and varies", "end them, or measure at another time",
    )
    THROTTLED = "throttled", "a CPU quota slowed the run", "the figures are those of the quota", "raise it"
    BUSY = "busy", "the host was busy before", "the run shares the host at its start", "allow a longer cool-down"
    SERVER_CPU = (
        "server cpu", "the server's processors were saturated",
        "they limit the throughput", "use fewer users, or more cores",
    )
    SERVER_DISK = (
        "server disk", "the server's disk was saturated",
        "it may limit the throughput", "use a faster disk, or less data",
    )
    DRIFT = (
        "drift", "the result drifts over the runs",
        "later runs are not like earlier ones", "find what changes, or add blocks",
    )
    GROWTH = "growth", "the data grew between blocks", "later runs had more work", "set reset: restore"
    NOISE = (
        "noise", "the noise of runs is large",
        "only large differences can be decided", "use longer runs or a quieter host",
    )
    UNEQUAL_NOISE = "unequal noise", "one configuration is noisier", "its interval is wider", "add blocks"
    VARYING = (
        "varying", "an effect differs between runs",
        "it depends on something else", "add runs, which show how much",
    )
    BLOCK = (
        "block", "one block differs from the others",
        "its runs pull the means", "add blocks, or find what happened in it",
    )
    OUTLIER = "outlier", "one run is an outlier", "it is included and widens intervals", "read its report"
    DROPPED = "dropped", "cycles of slices were dropped", "fewer cycles count", "use a longer slice_s"
    PAUSED = (
        "paused", "the load paused in turn",
        "rates of the run include the pauses", "compare it with its other side",
    )
    CARRY_OVER = (
        "carry over", "slices affect the next ones",
        "none on comparisons: the order is balanced", "use a longer slice_s",
    )
    MEMORY = (
        "memory", "the data exceed the host's memory",
        "the disks are measured, too", "build less data, or add memory",
    )
    CACHE = (
        "cache", "the data exceed the server's cache",
        "some pages are read from files", "enlarge the cache, or build less data",
    )
    FULL_PAGES = (
        "full pages", "full-page writes had not subsided",
        "the window's start writes more log", "set a longer rampup_s, or rampup_max_s",
    )
    HISTORY = (
        "history", "old row versions pile up",
        "the load became slower, or will", "give purge more threads, or use --maintain",
    )
    LOG_SWITCHES = (
        "log switches", "sessions waited for log switches",
        "the result depends on the size of its files", "make the files of the redo log larger",
    )
    CYCLE = (
        "cycle", "window shorter than a checkpoint cycle",
        "it has all of that writing or none", "set a longer duration_s",
    )
    LOCKS = "locks", "users wait for each other's locks", "the waits are measured, too", "build a larger schema"
    EARLY = "early", "the run ended early", "the window is shorter than planned", "repeat the run"
    OTHER = "", "", "", ""
    # fmt: on

    brief: str
    effect: str
    advice: str

    def __new__(cls, word: str, brief: str, effect: str, advice: str) -> Self:
        """A kind by its word, which manifests have."""
        made = str.__new__(cls, word)
        made._value_, made.brief, made.effect, made.advice = word, brief, effect, advice
        return made

    @property
    def rank(self) -> int:
        """Its place among all kinds; 0 is the worst."""
        return list(Kind).index(self)


class Caution(str):
    """A warning: its sentence as text, its kind, and the share of the window's CPU time that was taken away."""

    __slots__ = ("kind", "taken_pct")
    kind: Kind
    taken_pct: float

    def __new__(cls, text: str, kind: Kind = Kind.OTHER, taken_pct: float = 0.0) -> Self:
        """A warning of this kind."""
        caution = super().__new__(cls, text)
        caution.kind, caution.taken_pct = kind, taken_pct
        return caution

    def __reduce__(self) -> tuple[type[Caution], tuple[str, Kind, float]]:
        return Caution, (str(self), self.kind, self.taken_pct)

    @property
    def order(self) -> tuple[int, float, int]:
        """The key of a sort that has the worst first: by kind; among kinds that took CPU time, by how much."""
        rank = Kind.STEAL.rank if self.taken_pct else self.kind.rank
        return rank, -self.taken_pct, self.kind.rank

    @classmethod
    def of(cls, text: str) -> Caution:
        """The warning itself, or one of no known kind."""
        return text if isinstance(text, Caution) else Caution(text)

    def after(self, head: str) -> Caution:
        """The same warning with a text before it, such as which side it is about."""
        return Caution(f"{head}{self}", self.kind, self.taken_pct)

    @property
    def brief(self) -> str:
        """The warning in at most six words."""
        if self.kind.brief:
            return self.kind.brief
        first = self.replace("; ", ", ").replace(": ", ", ").partition(", ")[0].partition(" (")[0]
        return " ".join(first.removeprefix("Warning").split()[:_WORDS]).rstrip(".")
