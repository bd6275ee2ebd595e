"""TPROC-H without a server: streams, parameters, the population's parts, and the comparison of answers."""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest

from hdbkit.config import Load, SweepSpec, Target, TprocCSpec
from hdbkit.config.metric import Metric
from hdbkit.config.specs.tproc_h import QUERIES, TprocHLoad, TprocHSpec
from hdbkit.contracts import CheckSession, Session, UserPlan
from hdbkit.databases import database
from hdbkit.errors import ConfigErrors, ErrorClass, InputError, TransactionError
from hdbkit.execution.virtual_user import session_options
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.loading import build
from hdbkit.plan import RunPlan
from hdbkit.results.spool import UNKNOWN_DETAIL
from hdbkit.workloads import metric_of, workload
from hdbkit.workloads.checking import CheckSessions
from hdbkit.workloads.tproc_h import population
from hdbkit.workloads.tproc_h.answers import difference
from hdbkit.workloads.tproc_h.answers import planned_checks as checks
from hdbkit.workloads.tproc_h.refresh import RefreshOrders, UpdateSet, first_new_key
from hdbkit.workloads.tproc_h.streams import drawn, ordered
from hdbkit.workloads.tproc_h.tables import TPROC_H_TABLES, lines_at
from hdbkit.workloads.tproc_h.user import StreamWork
from tests import generated

SMALL = TprocHSpec(scale_factor=0.01)


def test_each_stream_has_every_query_once_in_an_order_of_its_own() -> None:
    orders = [ordered(stream) for stream in range(41)]
    assert all(sorted(order) == list(QUERIES) for order in orders)
    assert len({*orders}) == 41
    assert (orders[0][:3], ordered(41)) == (("q14", "q02", "q09"), orders[1])


def many(query: str, scale_factor: float = 1.0) -> list[dict[str, Any]]:
    source = random.Random(7)
    return [drawn(query, source, scale_factor) for _ in range(2000)]


@pytest.mark.parametrize(
    ("query", "name", "lowest", "highest"),
    [
        ("q01", "last_shipdate", date(1998, 8, 3), date(1998, 10, 2)),
        ("q02", "size", 1, 50),
        ("q03", "day", date(1995, 3, 1), date(1995, 3, 31)),
        ("q04", "first_day", date(1993, 1, 1), date(1997, 10, 1)),
        ("q04", "end_day", date(1993, 4, 1), date(1998, 1, 1)),
        ("q05", "end_day", date(1994, 1, 1), date(1998, 1, 1)),
        ("q06", "min_discount", Decimal("0.01"), Decimal("0.08")),
        ("q06", "max_discount", Decimal("0.03"), Decimal("0.10")),
        ("q06", "quantity", 24, 25),
        ("q10", "first_day", date(1993, 2, 1), date(1995, 1, 1)),
        ("q14", "end_day", date(1993, 2, 1), date(1998, 1, 1)),
        ("q15", "first_day", date(1993, 1, 1), date(1997, 10, 1)),
        ("q18", "quantity", 312, 315),
        ("q19", "quantity1", 1, 10),
        ("q19", "quantity2", 10, 20),
        ("q19", "quantity3", 20, 30),
        ("q20", "first_day", date(1993, 1, 1), date(1997, 1, 1)),
    ],
)
def test_parameters_are_within_the_limits_of_their_clause(query: str, name: str, lowest: Any, highest: Any) -> None:
    found = [values[name] for values in many(query)]
    assert (min(found), max(found)) == (lowest, highest)


def test_parameters_that_must_differ_do() -> None:
    assert all(values["nation1"] != values["nation2"] for values in many("q07"))
    assert all(values["mode1"] != values["mode2"] for values in many("q12"))
    assert all(len({values[f"size{i}"] for i in range(1, 9)}) == 8 for values in many("q16"))
    assert all(len({values[f"code{i}"] for i in range(1, 8)}) == 7 for values in many("q22"))


@pytest.mark.parametrize(("scale_factor", "fraction"), [(1, "0.0001"), (0.01, "0.01"), (30, "0.0000033333")])
def test_the_fraction_of_query_11_is_inverse_to_the_scale(scale_factor: float, fraction: str) -> None:
    assert drawn("q11", random.Random(1), scale_factor)["fraction"] == Decimal(fraction)


def text(spec: TprocHSpec, key: str, tables: Iterable[str] = tuple(TPROC_H_TABLES)) -> dict[str, bytes]:
    return {load.table.name: b"".join(load.chunks) for load in population.part(spec, key, tables)}


def test_the_tables_are_the_same_in_one_part_and_in_several() -> None:
    whole, parts = text(SMALL, "1-1"), [text(SMALL, f"{number}-3") for number in (1, 2, 3)]
    assert {name: b"".join(part.get(name, b"") for part in parts) for name in TPROC_H_TABLES} == whole
    assert {name: content.count(b"\n") for name, content in whole.items()} == {
        name: lines_at(0.01) if name == "lineitem" else table.rows_at(0.01) for name, table in TPROC_H_TABLES.items()
    }
    fields = {name: {len(line.split(b"\t")) for line in content.splitlines()} for name, content in whole.items()}
    assert fields == {name: {len(table.columns)} for name, table in TPROC_H_TABLES.items()}


def test_a_part_may_have_some_tables() -> None:
    found = text(SMALL, "1-1", ("region", "nation"))
    assert {name: content.count(b"\n") for name, content in found.items()} == {"region": 5, "nation": 25}
    assert found["region"].startswith(b"0\tAFRICA\tlar deposits. blithely")


LINES = (
    b"r_regionkey\tr_name\tr_comment\n",
    b"0\tASIA\t-\n",
    b"n_nationkey\tn_name\tn_regionkey\tn_comment\n",
    b"1\tPERU\t0\t-\n",
)


@pytest.mark.parametrize("lines", [(4,), (1, 3), (2, 2), (3, 1), (1, 1, 1, 1)])
def test_tables_are_distinguished_wherever_a_chunk_ends(lines: tuple[int, ...]) -> None:
    rest = iter(LINES)
    chunks = [b"".join(itertools.islice(rest, count)) for count in lines]
    assert list(population.by_table(chunks)) == [("region", LINES[1]), ("nation", LINES[3])]


def test_each_execution_is_planned_for_its_values_where_each_counts() -> None:
    target = Target(kind="nulldb", host="db1", database="bench")
    plans = [RunPlan(run_id="one", target=target, workload=spec, load=Load()) for spec in (SMALL, TprocCSpec())]
    assert [session_options(plan).reuses_plans for plan in plans] == [False, True]


@pytest.mark.parametrize(
    ("scale_factor", "loaders", "count"),
    [(0.01, 16, 1), (1, 1, 2), (1, 16, 16), (3, 2, 6), (3, 16, 16), (10, 16, 32)],
)
def test_the_parts_of_a_scale_have_all_rows(scale_factor: float, loaders: int, count: int) -> None:
    parts = population.parts(TprocHSpec(scale_factor=scale_factor), loaders)
    whole = 8_661_215 * scale_factor
    assert sum(part.rows for part in parts) == pytest.approx(whole, rel=1e-4, abs=30)
    assert len({part.key for part in parts}) == len(parts) == count
    assert all(part.size_bytes <= 600_000_000 for part in parts)


def test_a_build_continues_with_the_parts_that_it_began_with() -> None:
    spec = TprocHSpec(scale_factor=3)
    begun = population.parts(spec, 16)
    assert workload(spec).parts_for(2, {begun[4].key}) == begun != workload(spec).parts_for(2)


@pytest.mark.parametrize("key", ["1-999999999", "1-0", "one", ""])
def test_a_division_that_no_build_makes_is_not_continued(key: str) -> None:
    spec = TprocHSpec(scale_factor=3)
    assert workload(spec).parts_for(2, {key}) == workload(spec).parts_for(2)


def test_without_the_generator_nothing_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(population, "_TOOL", "no-such-generator")
    monkeypatch.delenv(generated.FOLDER)
    with pytest.raises(InputError, match="TPROC-H needs no-such-generator"):
        build(Target(kind="duckdb", database=str(tmp_path / "h")), SMALL, loaders=1)
    assert not list(tmp_path.iterdir())


def test_a_generator_that_fails_is_reported() -> None:
    with pytest.raises(InputError, match="tpchgen-cli failed"):
        text(SMALL, "3-2")


ROW = ("ALGERIA", Decimal("1.50"), date(1995, 3, 1), 7)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([ROW], [("ALGERIA     ", Decimal("1.509"), date(1995, 3, 1), Decimal(7))]),
        ([ROW], [("ALGERIA", 1.5, date(1995, 3, 1), 7)]),
        ([(1, "b"), (2, "a")], [(2, "a"), (1, "b")]),
        ([(None,)], [(None,)]),
    ],
)
def test_answers_are_equal_to_the_cent_without_blanks_and_places_of_equals(found: Any, expected: Any) -> None:
    assert difference(found, expected) == ""


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ([ROW, ROW], "2 rows, 1 expected"),
        ([("ALGERIA", Decimal("1.52"), date(1995, 3, 1), 7)], "row 1 is (ALGERIA, 1.52, 1995-03-01, 7), not"),
        ([("BRAZIL", *ROW[1:])], "row 1 is (BRAZIL"),
        ([("ALGERIA", Decimal("1.50"), date(1995, 3, 2), 7)], "row 1 is (ALGERIA, 1.50, 1995-03-02"),
        ([("ALGERIA", None, date(1995, 3, 1), 7)], "row 1 is (ALGERIA, None"),
    ],
)
def test_a_wrong_answer_is_shown_beside_the_right_one(found: Any, problem: str) -> None:
    assert difference(found, [ROW]).startswith(problem)


@pytest.mark.parametrize(
    ("query", "found", "expected", "problem"),
    [
        ("q04", [("2", 5), ("1", 7)], [("1", 7), ("2", 5)], "row 1 is (2, 5), not (1, 7): rows in another order"),
        ("q05", [("b", 3.0), ("a", 3.0), ("c", 1)], [("a", 3.0), ("b", 3.0), ("c", 1)], ""),
        (
            "q05",
            [("a", 3.0), ("b", 3.0), ("d", 1)],
            [("a", 3.0), ("b", 3.0), ("c", 1)],
            "row 3 is (d, 1), not (c, 1)",
        ),
        ("q08", [(1995, 0.0330)], [(1995, 0.0341)], "row 1 is"),
        ("q08", [(1995, Decimal("0.034123"))], [(1995, 0.0341231)], ""),
        ("q08", [(1995, Decimal("0.0500"))], [(1995, 0.05008)], ""),
        ("q08", [(1995, Decimal("0.05000"))], [(1995, 0.05008)], "row 1 is"),
        ("q08", [(1995, Decimal("nan"))], [(1995, 0.05)], "row 1 is"),
        ("q11", [(1, Decimal("10.01"))], [(1, 10.0)], "row 1 is"),
    ],
)
def test_answers_are_in_the_querys_order_and_exact_by_kind_of_number(
    query: str, found: Any, expected: Any, problem: str
) -> None:
    said = difference(found, expected, query)
    assert said.startswith(problem) if problem else not said


def test_answers_of_a_large_scale_are_refused() -> None:
    with pytest.raises(InputError, match="verified up to scale factor 1; this schema has 3"):
        workload(TprocHSpec(scale_factor=3)).answers(1)


def test_the_options_are_those_of_the_workload() -> None:
    work = workload(TprocHSpec(scale_factor=0.1))
    assert (work.scale, work.spec.slug) == ("scale factor 0.1", "h-sf0.1")
    assert work.load(TprocHLoad(queries="q06, q01")).selected == ("q06", "q01")  # type: ignore[attr-defined]
    with pytest.raises(ConfigErrors, match="there is no query 'q23'"):
        TprocHLoad(queries="q23")
    with pytest.raises(ConfigErrors, match="scale_factor"):
        TprocHSpec(scale_factor=0)


@pytest.mark.parametrize(("indexes", "count"), [("all", 15), ("hammerdb", 16), ("keys", 8), ("none", 0)])
def test_a_schema_has_the_indexes_that_its_option_names(indexes: str, count: int) -> None:
    names = workload(TprocHSpec(indexes=indexes)).scope(("ansi",)).statements
    assert sum(name.startswith("index_") for name in names) == count


def test_one_user_runs_the_power_stream_and_several_run_others() -> None:
    work = workload(SMALL)
    assert [phase.name for phase in work.phases(Load(virtual_users=1))] == ["power"]
    (phase,) = work.phases(Load(virtual_users=2))
    assert (phase.name, phase.duration_s, phase.measured) == ("throughput", None, True)


@pytest.mark.parametrize("kind", ["mysql", "postgresql"])
def test_statements_of_a_hammerdb_schema_have_its_names_of_tables_and_no_others(kind: str) -> None:
    """The names of values, columns and texts stay as they are."""
    ours, theirs = (
        workload(TprocHSpec(schema_from=tool)).scope(database(kind).dialects).statements
        for tool in ("hdbkit", "hammerdb")
    )
    for name in (*QUERIES, "count_lineitem", "sum_orders"):
        plain, changed = ours[name].text.split(), theirs[name].text.split()
        assert {one for one, other in zip(changed, plain, strict=True) if one != other} <= {
            f"{table.upper()}{end}" for table in TPROC_H_TABLES for end in ("", ",", ")")
        }
        assert not set(changed) & set(TPROC_H_TABLES)
    assert ":region" in theirs["q08"].text


def test_the_list_of_each_user_is_what_it_executes() -> None:
    work = workload(TprocHSpec())
    lists = work.listed(TprocHLoad(virtual_users=3, query_sets=2, queries="q01,q03", refresh="undone"))
    assert lists == [(("q03", "q01"), 2), (("q01", "q03"), 2), (("rf1", "rf2"), 4)]
    assert work.listed(TprocHLoad(queries="q01", refresh="undone")) == [(("rf1", "q01", "rf2"), 1)]


def test_the_metric_of_some_queries_is_named_after_them_and_compares_with_no_other() -> None:
    work = workload(SMALL)

    def chosen(queries: str) -> Metric:
        return metric_of(work, TprocHLoad(queries=queries))

    few, many = chosen("q06,q01"), chosen(",".join(QUERIES[:12]))
    assert (few.name, few.operations) == ("geometric mean (q01, q06)", ("q01", "q06"))
    assert chosen(",".join(QUERIES[1:])).name == "geometric mean (without q01)"
    assert many.name == "geometric mean (12 of 22)"
    assert "without q13, q14, q15" in many.title
    assert chosen(",".join(QUERIES)) == metric_of(work, Load()) == work.metric
    assert few.comparable(chosen("q01,q06"))
    assert not few.comparable(chosen("q01"))
    assert not few.comparable(work.metric)


def test_a_sweep_over_different_queries_is_refused() -> None:
    fields = {"name": "queries", "virtual_users": [1], "blocks": 5, "workload": SMALL}
    spec = SweepSpec(**fields, factors={"queries": ["none", "q01,q06"]})
    with pytest.raises(InputError, match="different metrics cannot be compared"):
        plan_sweep(Target(kind="duckdb", database="h.db"), spec, "sweep-1")


def test_an_update_set_inserts_orders_under_free_keys_and_deletes_one_part_in_a_thousand() -> None:
    found = UpdateSet.numbered(SMALL, 3)
    assert found.old.keys == ((103, 103), (128, 135), (160, 165))
    keys = {key for first, last in found.new.keys for key in range(first, last + 1)}
    assert {key % 32 // 8 for key in keys} == {1}
    content = RefreshOrders.of_part(SMALL, 503)
    assert [row.split(b"\t")[1:] for row in found.new.rows["orders"]] == [
        row.split(b"\t")[1:] for row in content.rows["orders"]
    ]
    lines = [int(row.split(b"\t")[0]) for row in found.new.rows["lineitem"]]
    assert {*lines} == keys
    assert len(found.new) == len(lines) + 15


@pytest.mark.parametrize(("scale_factor", "number"), [(0.01, 3), (0.0123, 500), (1, 999)])
def test_the_first_key_that_an_update_set_inserts_is_known_without_the_generator(
    scale_factor: float, number: int
) -> None:
    spec = TprocHSpec(scale_factor=scale_factor)
    assert first_new_key(spec, number) == UpdateSet.numbered(spec, number).new.keys[0][0]


@pytest.mark.parametrize(
    ("options", "streams", "sets"),
    [
        ({"virtual_users": 1}, 1, range(1, 2)),
        ({"virtual_users": 1, "query_sets": 3, "update_set": 5}, 1, range(5, 8)),
        ({"virtual_users": 4, "query_sets": 2}, 3, range(1, 7)),
        ({"virtual_users": 4, "refresh_pairs": 2}, 3, range(1, 3)),
        ({"virtual_users": 4, "refresh": "off"}, 4, range(0)),
        ({"virtual_users": 4, "read_only": True}, 4, range(0)),
    ],
)
def test_the_last_of_several_streams_runs_the_refresh_functions(
    options: dict[str, Any], streams: int, sets: range
) -> None:
    load = TprocHLoad(**{"refresh": "undone", **options})
    assert (load.query_streams, load.update_sets) == (streams, sets)


def test_refresh_functions_are_part_of_the_mix_and_need_privileges_and_update_sets() -> None:
    work, load = workload(SMALL), TprocHLoad(virtual_users=3, refresh="kept", refresh_pairs=1, queries="q01")
    assert work.mix(load) == {"q01": 1.0, "rf1": 0.5, "rf2": 0.5}
    assert work.access(load).tables["DELETE"] == {"orders", "lineitem"}
    assert work.restoring(load) is None
    assert work.restoring(TprocHLoad(refresh="undone")) is not None
    assert metric_of(work, TprocHLoad(refresh="undone")) == work.metric
    with pytest.raises(InputError, match="need update sets 1000 to 1001, but there are 1000"):
        work.load(TprocHLoad(refresh="kept", update_set=1000, query_sets=2))


class Bound:
    """A session that binds queries to themselves."""

    def __init__(self) -> None:
        self._statements = workload(SMALL).scope(("ansi",)).statements

    def prepare(self, names: Iterable[str]) -> None:
        assert {*names} <= self._statements.keys()

    def parameters(self, name: str) -> tuple[str, ...]:
        return self._statements[name].parameters

    def bind(self, name: str, arguments: tuple[Any, ...]) -> str:
        assert len(arguments) == len(self.parameters(name))
        return name

    def perform(self, bound: str) -> str:
        return bound

    def ask(self, operation: str, /, **arguments: Any) -> list[tuple[Any, ...]]:
        return [(None, None, None)]


def test_a_stream_continues_after_a_lost_connection_with_the_query_after_the_last() -> None:
    load = TprocHLoad(virtual_users=2, query_sets=3)
    user = workload(SMALL).user(cast("Session", Bound()), load, UserPlan(0, 7, done=25))
    batches = [[one.bound for one in user.next_batch()] for _ in range(3)]
    assert batches == [[*ordered(1)[3:]], [*ordered(1)], []]


class Counting:
    """A server whose counters grow by what is asked, and which may be lost."""

    def __init__(self, *totals: tuple[int | None, ...] | TransactionError) -> None:
        self._totals, self.asked = iter(totals), list[str]()

    def ask(self, operation: str, /, **arguments: Any) -> list[tuple[Any, ...]]:
        self.asked.append(operation)
        if operation == "publish_work":
            return [(1,)]
        found = next(self._totals)
        if isinstance(found, TransactionError):
            raise found
        return [found]


def counts(packed: bytes) -> tuple[int | None, ...]:
    return tuple(None if one == UNKNOWN_DETAIL else one for one in struct.unpack("<qqq", packed))


def test_what_a_query_reads_is_the_difference_of_counters_without_what_they_read_themselves() -> None:
    server = Counting((10, None, 0), (17, None, 0), (30, None, 0), (137, None, 2), (144, None, 2))
    work = StreamWork(cast("Session", server), alone=False)
    work.begin()
    assert [counts(work.end()) for _ in range(2)] == [(100, None, 2), (0, None, 0)]
    assert {*server.asked} == {"publish_work", "work_of_session"}


def test_what_a_query_reads_is_unknown_once_the_server_is_lost() -> None:
    lost = TransactionError(ErrorClass.CONNECTION_LOST, "08006", "the connection was lost")
    server = Counting((1, 1, 1), (1, 1, 1), (1, 1, 1), lost)
    work = StreamWork(cast("Session", server), alone=True)
    work.begin()
    assert counts(work.end()) == (None, None, None)
    assert "work_of_server" in server.asked


def test_a_server_that_counts_nothing_is_not_asked_again() -> None:
    server = Counting(*[(None, None, None)] * 2)
    work = StreamWork(cast("Session", server), alone=True)
    work.begin()
    assert counts(work.end()) == (None, None, None)
    assert len(server.asked) == 4


class Summed:
    """Answers the sums of the orders with one amount."""

    def __init__(self, amount: str) -> None:
        self._amount = Decimal(amount)

    def ask(self, operation: str, /, **arguments: Any) -> list[tuple[Any, ...]]:
        assert operation == "sum_orders"
        return [(self._amount,)]


def summed(amount: str) -> CheckSession:
    return CheckSessions([cast(Session, Summed(amount))])


def test_the_sums_of_a_table_are_known_at_some_scale_factors() -> None:
    planned = {one.name: one for one in checks(SMALL, ())}
    assert planned["sums of orders"].decide(summed("2127396830.02")).passed
    wrong = planned["sums of orders"].decide(summed("2127396830.03"))
    assert (wrong.passed, wrong.detail) == (False, "sum(o_totalprice) = 2127396830.03, 2127396830.02 expected")
    assert not [one.name for one in checks(TprocHSpec(scale_factor=0.03), ()) if one.name.startswith("sums")]
