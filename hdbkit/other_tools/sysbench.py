"""What sysbench prints at the end of a test of a database (versions 0.4, 0.5, 1.0 and 1.1)."""

from __future__ import annotations

import re

from hdbkit.other_tools.figures import Measured, Unreadable, figures_of, number_in_output, operation_of, text_in

SYSBENCH_HEADS = (r"^sysbench \d",)
_STATISTICS = re.compile(r"^(?:OLTP test|SQL) statistics:", re.MULTILINE)
_TIMES = {
    "mean_us": "avg",
    "max_us": "max",
    **{f"p{level}_us": rf"(?:{level}th|approx\. +{level}) percentile" for level in (50, 90, 95, 99)},
}


def sysbench_result(text: str) -> Measured:
    """The last report in the output of a test: with --report-checkpoints there are several."""
    users = number_in_output(text, r"^Number of threads: (\d+)")
    *_, report = _STATISTICS.split(text)
    window_s = number_in_output(report, r"(?:total time|time elapsed): +([\d.]+)s")
    done = number_in_output(report, r"transactions: +(\d+) ")
    rate = number_in_output(report, r"transactions: +\d+ +\(([\d.]+) per sec")
    if done is None and "total number of events" in text:
        raise Unreadable("it is sysbench's test of something else than a database: it has no transactions")
    if not users or not window_s or not done or not rate:
        raise Unreadable("it lacks the threads, transactions or time of a test of a database")
    found = {name: number_in_output(report, rf"^ +{words}: +([\d.]+)(?:ms)?$") for name, words in _TIMES.items()}
    times = {name: 1000 * value for name, value in found.items() if value}  # a percentile that was not asked for is 0
    return Measured(
        tool="sysbench",
        version=text_in(text, r"^sysbench ([\d.]*\d)"),
        database="",
        server_version="",
        started=None,
        users=int(users),
        result=figures_of(
            rate,
            window_s,
            done,
            failed=None,
            retries=None,
            operations={"transaction": operation_of(done, times, False)},
        ),
        scale="",
    )
