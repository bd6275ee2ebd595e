"""What pgbench, sysbench and BenchBase wrote about a run of theirs, read as figures of hdbkit.

A figure that a file does not state is None. A file may come from anybody: its size is limited, and of what lies
beside it only regular files are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hdbkit.other_tools import benchbase, pgbench, sysbench
from hdbkit.other_tools.figures import Measured, Reader, Unreadable, figures_result
from hdbkit.other_tools.files import file_content, file_text

__all__ = ["Measured", "Reader", "Unreadable", "figures_result", "file_content", "file_text", "measured_in"]

_OUTPUTS: tuple[tuple[str, Callable[[str], Measured]], ...] = (
    *((head, pgbench.pgbench_result) for head in pgbench.PGBENCH_HEADS[:2]),
    *((head, sysbench.sysbench_result) for head in sysbench.SYSBENCH_HEADS),
    (pgbench.PGBENCH_HEADS[2], pgbench.pgbench_result),
)
"""How a run begins in what a tool printed, and what reads it."""


def measured_in(path: Path, content: bytes) -> list[tuple[bytes, Reader]]:
    """Each run in a file: its own bytes, and what reads it; none if the file is of none of the three tools.

    A reader raises :class:`Unreadable` for a run that lacks what every result needs.
    """
    if pgbench.PGBENCH_LOGGED.match(content):
        logged = pgbench.logs_of_threads(path, content)
        return [(logged, partial(pgbench.of_client_logs, logged))]
    for begins, read in (
        (pgbench.AGGREGATED, pgbench.of_aggregates),
        (re.compile(re.escape(benchbase.RAW)), partial(benchbase.of_requests, content)),
        (re.compile(re.escape(benchbase.SAMPLES)), benchbase.of_samples),
    ):
        if begins.match(content):
            return [(content, read)]
    text = file_text(content)
    if text.lstrip().startswith("{") and '"Latency Distribution"' in text:
        return [(content, partial(benchbase.of_summary, text, path))]
    for head, of_output in _OUTPUTS:
        starts = [one.start() for one in re.finditer(head, text, re.MULTILINE)]
        if starts:
            parts = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
            return [(part.encode(), partial(of_output, part)) for part in parts]
    return []
