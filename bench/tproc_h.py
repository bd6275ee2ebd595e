"""TPROC-H beside its lower bounds: load, generator, hdbkit's own time per query, and the plans of the queries.

The load is compared as in :mod:`bench.build`: the engine's own client loads prepared files over as many connections
and runs the same index statements. The floor of a query is the driver alone, with the same text and values.

The plans are compared with HammerDB's query texts, on the same data with the same values, if the variable
``HAMMERDB`` names its folder: its texts are not part of hdbkit.
"""

from __future__ import annotations

import os
import random
import re
import statistics
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import ExecStatus

import hdbkit
from bench import build, mariadb
from bench.common import blocks, postgres_environment, quick_or, scratch, server, show, title
from hdbkit.config.specs.tproc_h import QUERIES, TprocHLoad, TprocHSpec
from hdbkit.contracts import UserPlan
from hdbkit.databases import database
from hdbkit.databases.postgresql.session import BoundCall, PsycopgSession
from hdbkit.execution.failures import ErrorCounts, Failures
from hdbkit.execution.user import Loop
from hdbkit.execution.virtual_user import session_options
from hdbkit.loading import drop
from hdbkit.plan import RunPlan
from hdbkit.results.spool import SpoolWriter
from hdbkit.servers import PrivateServer
from hdbkit.statement import Statement
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_h.streams import SubstitutionValues, drawn

SPEC = TprocHSpec(scale_factor=quick_or(0.1, 1))
SMALL = TprocHSpec(scale_factor=0.01)
"""Its queries take a few milliseconds, so that the time of the client can be seen."""
CALLS = quick_or(3, 10)
QUERIES_OF_STREAM = 10
SETS = quick_or(3, 5)
NEAR = 1.1
"""Queries whose ratio is further from 1 are printed."""
HAMMERDB = "HAMMERDB"
TEXTS = Path("src/postgresql/pgolap.tcl")
UNLIMITED = {"q02", "q03", "q10", "q18", "q21"}
"""HammerDB's texts for PostgreSQL omit the row limits of these."""
VALUES = {
    "q01": "days",
    "q02": "size type region",
    "q03": "segment day",
    "q04": "first_day",
    "q05": "region first_day",
    "q06": "first_day discount quantity",
    "q07": "nation1 nation2",
    "q08": "nation region type",
    "q09": "color",
    "q10": "first_day",
    "q11": "nation fraction",
    "q12": "mode1 mode2 first_day",
    "q13": "word1 word2",
    "q14": "first_day",
    "q15": "first_day",
    "q16": "brand type size1 size2 size3 size4 size5 size6 size7 size8",
    "q17": "brand container",
    "q18": "quantity",
    "q19": "brand1 brand2 brand3 quantity1 quantity2 quantity3",
    "q20": "color first_day nation",
    "q21": "nation",
    "q22": "code1 code2 code3 code4 code5 code6 code7",
}
"""The values that HammerDB's texts take, in order."""
Text = Callable[[str, SubstitutionValues], str]
"""The text of a query with its values, as statements of which the only one that begins with SELECT is measured."""

T = TypeVar("T")
R = TypeVar("R")


class Spool(SpoolWriter):
    """A spool that adds up the recorded times."""

    recorded_ns = 0

    def append(self, scheduled_ns: int, start_ns: int, end_ns: int, *rest: Any) -> None:
        self.recorded_ns += end_ns - start_ns
        super().append(scheduled_ns, start_ns, end_ns, *rest)


def opened(own: PrivateServer) -> PsycopgSession:
    """A session as a run of hdbkit's has it, with all queries prepared."""
    engine, plan = database(own.target), RunPlan(run_id="bench", target=own.target, workload=SPEC, load=TprocHLoad())
    session = engine.connect(own.target, workload(SPEC).scope(engine.dialects), session_options(plan))
    session.prepare(QUERIES)
    return cast(PsycopgSession, session)


def own_time(own: PrivateServer, folder: Path) -> None:
    """Print the milliseconds per query that hdbkit adds to the driver, on a schema of which a query takes a few.

    hdbkit's side is a stream of its own with its measured loop: from the drawing of the values to the record in its
    spool. What a stream asks once is shared by its queries, of which a real one has 22 or more.
    """
    session, work, fields = opened(own), workload(SMALL), memoryview(array("q", [2**62] * 16))
    spool = Spool(folder / "spool", 0, work.details)
    failures = Failures(ErrorCounts(folder, 0, work.operations), TprocHLoad(), fields)
    loop = Loop(spool, fields, failures, lambda _: None, details_from_results=True)

    def by_hdbkit(load: TprocHLoad, seed: int) -> float:
        began_s = time.perf_counter()
        loop.run(work.user(session, load, UserPlan(0, seed)))
        return (time.perf_counter() - began_s) / QUERIES_OF_STREAM

    def by_driver(text: str, stream: Sequence[SubstitutionValues]) -> float:
        began_s = time.perf_counter()
        for values in stream:
            cursor.execute(text, values, prepare=True).fetchall()
        return (time.perf_counter() - began_s) / QUERIES_OF_STREAM

    more_ms, all_s = [], 0.0
    with connected(own) as driver, driver.cursor(binary=True) as cursor:
        for name in QUERIES:
            text = for_driver(session.scope.statements[name])
            sources = map(random.Random, range(CALLS))
            streams = [[drawn(name, one, SMALL.scale_factor) for _ in range(QUERIES_OF_STREAM)] for one in sources]
            load = TprocHLoad(queries=name, query_sets=QUERIES_OF_STREAM)
            ways = {
                "own": in_turn(partial(by_hdbkit, load), range(CALLS)),
                "driver": in_turn(partial(by_driver, text), streams),
            }
            done = blocks(ways, CALLS)
            more_ms.append(1000 * statistics.median(one["own"] - one["driver"] for one in done))
            all_s += QUERIES_OF_STREAM * sum(one["own"] for one in done)
    spool.close()
    session.close()
    show("hdbkit's time - the driver's, by query", more_ms, unit="ms", at_most=1)
    outside_ms = (1000 * all_s - spool.recorded_ns / 1e6) / spool.written
    show("of it outside of the recorded time: draw, bind, count, record", [outside_ms], unit="ms")


def in_turn(way: Callable[[T], R], inputs: Iterable[T]) -> Callable[[], R]:
    """A way to measure that takes the next of the inputs each time."""
    rest = iter(inputs)
    return lambda: way(next(rest))


def connected(own: PrivateServer) -> psycopg.Connection[Any]:
    """A connection of the driver alone."""
    words = {name.removeprefix("PG").lower(): value for name, value in postgres_environment(own, "tproc_h").items()}
    place = make_conninfo(**{"dbname" if name == "database" else name: value for name, value in words.items()})
    return psycopg.connect(place, autocommit=True)


def for_driver(statement: Statement) -> str:
    """A text with the driver's placeholders."""
    return replace(statement, text=statement.text.replace("%", "%%")).rendered(lambda name, _: f"%({name})s")


def of_hammerdb(folder: Path) -> Text:
    """HammerDB's texts, with the values of ours."""
    found = re.findall(r'^set sql\((\d+)\) "(.*)"$', (folder / TEXTS).read_text(encoding="utf-8"), re.MULTILINE)
    texts = {f"q{int(number):02d}": text.replace("$myposition", "0") for number, text in found if ":1" in text}
    assert texts.keys() == set(QUERIES), f"{folder / TEXTS} has other queries"

    def text(name: str, values: SubstitutionValues) -> str:
        known = {**values, **in_its_terms(values)}
        given = [known[one] for one in VALUES[name].split()]
        return re.sub(r":(\d+)", lambda match: str(given[int(match[1]) - 1]), texts[name])

    return text


def in_its_terms(values: SubstitutionValues) -> SubstitutionValues:
    """Values as HammerDB's texts take them: days, the middle of a range, words without wildcards."""
    found = {name: value.strip("%") for name, value in values.items() if isinstance(value, str)}
    if "last_shipdate" in values:
        found["days"] = (date(1998, 12, 1) - values["last_shipdate"]).days
    if "min_discount" in values:
        found["discount"] = (values["min_discount"] + values["max_discount"]) / 2
    if "words" in values:
        found["word1"], found["word2"] = found["words"].split("%")
    return found


def plans(own: PrivateServer) -> None:
    """Print the ratios of the times of our texts and HammerDB's: geometric means by set, and queries that differ."""
    title(f"tproc_h: plans on PostgreSQL, scale factor {SPEC.scale_factor:g}: our texts / HammerDB's")
    if not (folder := os.environ.get(HAMMERDB)):
        print(f"not compared: name the folder of HammerDB with {HAMMERDB}=FOLDER", flush=True)
        return
    session, text, ratios = opened(own), of_hammerdb(Path(folder)), {}
    for name in QUERIES:
        source = random.Random(name)
        values = [drawn(name, source, SPEC.scale_factor) for _ in range(SETS)]
        bound = [session.bind(name, tuple(one[word] for word in session.parameters(name))) for one in values]
        texts = [text(name, one) for one in values]
        ways = {"own": in_turn(partial(performed, session), bound), "other": in_turn(partial(sent, session), texts)}
        done = blocks(ways, SETS)
        if name not in UNLIMITED:
            assert all(one["own"][1] == one["other"][1] for one in done), f"{name} has other rows"
        ratios[name] = [one["own"][0] / one["other"][0] for one in done]
    means = [statistics.geometric_mean(of_set) for of_set in zip(*ratios.values(), strict=True)]
    show("geometric mean of the ratios of the queries, by set", means, at_most=1.0)
    middle = {name: statistics.median(of_query) for name, of_query in ratios.items()}
    far = [f"{name} {ratio:.2f}" for name, ratio in middle.items() if not 1 / NEAR <= ratio <= NEAR]
    print(f"by query, those beyond {1 / NEAR:.2f} .. {NEAR}: {', '.join(far) or 'none'}", flush=True)
    session.close()


def performed(session: PsycopgSession, bound: BoundCall) -> tuple[float, int]:
    """Seconds of a prepared query, and its rows."""
    began_s = time.perf_counter()
    result = session.perform(bound)
    return time.perf_counter() - began_s, result.ntuples


def sent(session: PsycopgSession, text: str) -> tuple[float, int]:
    """Seconds of the statement that selects, as HammerDB measures, and its rows."""
    took_s, rows = 0.0, 0
    for statement in text.encode().split(b";"):
        began_s = time.perf_counter()
        result = session.connection.exec_(statement)
        assert result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.EMPTY_QUERY), (
            result.error_message
        )
        if result.status == ExecStatus.TUPLES_OK:
            took_s, rows = time.perf_counter() - began_s, result.ntuples
    return took_s, rows


def main() -> None:
    """Compare on PostgreSQL and on MariaDB."""
    connections = f"{build.CONNECTIONS} connections"
    with scratch() as folder:
        title(f"tproc_h: the text of scale factor {SPEC.scale_factor:g}, and builds of it over {connections}")
        files = build.Files.written(SPEC, folder)
        build.show_speed(files)
        with server() as own:
            build.compare(own, build.psql(own, "tproc_h"), files, at_most=1.2)
            hdbkit.connect(own.target).build(SPEC)
            plans(own)
            drop(own.target, SPEC)
            title(f"tproc_h: hdbkit's own time, scale factor {SMALL.scale_factor:g}, {CALLS} streams of each query")
            hdbkit.connect(own.target).build(SMALL)
            own_time(own, folder)
        with server(kind="mariadb") as maria:
            title(f"tproc_h: builds of scale factor {SPEC.scale_factor:g} on MariaDB, {connections}")
            build.compare(maria, mariadb.client_program(maria), files, at_most=1.3)


if __name__ == "__main__":
    main()
