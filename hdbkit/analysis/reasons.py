"""Reasons to be careful with a result: each warning in six words, with its effect and what to do, the worst first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_FAILED_CHECK = re.compile(r"failed the check|: failed checks: ")
_MANY_RUNS = re.compile(r"^in \d+ of \d+ runs?: ")
_WORDS = 6

_KNOWN = (
    ("still has settings of the sweep", "settings of the sweep still apply",
     "the next run measures other settings", "resume the sweep, which restores them"),
    ("before the sweep and is", "a setting changed outside the sweep",
     "the server is not as it was before", "set it"),
    ("did not do the same work", "the sides did different work", "the ratio includes the other work",
     "compare runs with the same workload and load"),
    ("rate decides the throughput", "a rate decides the throughput",
     "the throughput says nothing about the server", "compare latencies, or use a closed loop"),
    ("ran on different hosts", "the clients ran on different hosts", "the ratio includes the hosts",
     "measure both sides from one host"),
    ("different client code", "the sides used different client code", "each latency includes its client",
     "use the same client for both"),
    ("measured by", "another tool measured this", "its figures count differently", "compare runs of one tool"),
    ("was restarted during the run", "the server restarted during a run", "the result includes its recovery",
     "repeat the run"),
    ("another server answered", "another server took over", "counters of the first are missing", "repeat the run"),
    ("runs failed and", "some runs failed", "they are not counted; intervals are wider", "resume the experiment"),
    (r"[\d,]+ \w+ failed$", "some operations failed", "what fails is often fast", "look at the errors of the run"),
    ("Compared are the", "some operations are left out", "the metric covers fewer operations",
     "repeat the runs that lack them"),
    ("slices of run", "a run's slices are not used", "the result is made of fewer runs", "repeat the run"),
    ("other machines took", "other machines took CPU time", "throughput is lower and varies",
     "use a host with cores of its own"),
    ("other processes used", "other processes used the load host", "throughput is lower and varies",
     "end them, or measure at another time"),
    ("CPU quota", "a CPU quota slowed the run", "the figures are those of the quota", "raise it"),
    ("busy when the clients started", "the host was busy before", "the run shares the host at its start",
     "allow a longer cool-down"),
    ("processors of the database's host", "the server's processors were saturated", "they limit the throughput",
     "use fewer users, or more cores"),
    ("disk of the database's host", "the server's disk was saturated", "it may limit the throughput",
     "use a faster disk, or less data"),
    ("drifts by", "the result drifts over the runs", "later runs are not like earlier ones",
     "find what changes, or add blocks"),
    ("the data grew by", "the data grew between blocks", "later runs had more work", "set reset: restore"),
    ("the noise of a run is", "the noise of runs is large", "only large differences can be decided",
     "use longer runs or a quieter host"),
    ("noise of .* is .* times", "one configuration is noisier", "its interval is wider", "add blocks"),
    ("differs between runs beyond chance", "an effect differs between runs", "it depends on something else",
     "add runs, which show how much"),
    ("differs by .* from the median", "one block differs from the others", "its runs pull the means",
     "add blocks, or find what happened in it"),
    ("configuration and its block suggest", "one run is an outlier", "it is included and widens intervals",
     "read its report"),
    ("cycles were dropped", "cycles of slices were dropped", "fewer cycles count", "use a longer slice_s"),
    ("slices after", "slices affect the next ones", "none on comparisons: the order is balanced",
     "use a longer slice_s"),
    ("larger than the memory", "the data exceed the host's memory", "the disks are measured, too",
     "build less data, or add memory"),
    ("are larger than", "the data exceed the server's cache", "some pages are read from files",
     "enlarge the cache, or build less data"),
    ("full-page writes", "full-page writes had not subsided", "the window's start writes more log",
     "set a longer rampup_s, or rampup_max_s"),
    ("shorter than a cycle", "window shorter than a checkpoint cycle", "it has all of that writing or none",
     "set a longer duration_s"),
    ("row locks", "users wait for each other's locks", "the waits are measured, too", "build a larger schema"),
    ("ended early|^it ", "the run ended early", "the window is shorter than planned", "repeat the run"),
)  # fmt: skip
"""A pattern of the warning, its six words, its effect and what to do; in the order of their weight."""


@dataclass(frozen=True)
class Reason:
    """A reason to be careful: in at most six words, as the warning with its figures, its effect, and what to do."""

    brief: str
    warning: str
    effect: str = ""
    advice: str = ""


def reasons(warnings: Iterable[str]) -> list[Reason]:
    """The reasons in warnings, the worst first; without failed checks, which are listed by themselves."""
    found = [_reason(part) for warning in warnings for part in _parts(warning) if not _FAILED_CHECK.search(part)]
    return [one for _, one in sorted(found, key=lambda ranked: ranked[0])]


def _parts(warning: str) -> list[str]:
    """The warnings in one text: those of a schema are joined by semicolons, before ``the window``."""
    head = (_MANY_RUNS.match(warning) or [""])[0]
    first, *rest = re.split(r"; (?=the window \()", warning)
    return [first, *(head + one for one in rest)]


def _reason(warning: str) -> tuple[int, Reason]:
    plain = _MANY_RUNS.sub("", warning).removeprefix("Warning: ").rstrip(".")
    for rank, (pattern, *texts) in enumerate(_KNOWN):
        if re.search(pattern, plain):
            return rank, Reason(texts[0], warning, *texts[1:])
    words = re.sub(r" \([^)]*\)", "", re.split(r"[,;:] ", plain)[0]).split()
    return len(_KNOWN), Reason(" ".join(words[:_WORDS]), warning)
