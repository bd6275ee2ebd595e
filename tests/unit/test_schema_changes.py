"""What of a schema was changed while a run measured."""

from __future__ import annotations

import pytest

from hdbkit.execution.schema_changes import schema_changes

BEFORE = {
    ("table", "orders"): "p",
    ("column", "orders.id"): "integer",
    ("index", "orders_pk"): "unique",
    ("routine", "pay(integer)"): "1",
}


@pytest.mark.parametrize(
    ("changes", "removed", "named"),
    [
        ({}, [], ""),
        ({("index", "orders_day"): "x"}, [], "index orders_day was added"),
        ({}, [("index", "orders_pk")], "index orders_pk was removed"),
        ({("column", "orders.id"): "bigint"}, [], "column orders.id was altered"),
        ({("routine", "pay(integer)"): "2"}, [], "routine pay(integer) was altered"),
        (
            {("trigger", "orders.t"): "x"},
            [("index", "orders_pk")],
            "index orders_pk was removed, trigger orders.t was",
        ),
        ({("table", "new"): "p", ("column", "new.id"): "x"}, [], "measured: table new was added"),
        ({("index", f"i{n}"): "x" for n in range(7)}, [], "index i4 was added and 2 more"),
    ],
)
def test_each_object_that_came_went_or_was_altered_is_named(
    changes: dict[tuple[str, str], str], removed: list[tuple[str, str]], named: str
) -> None:
    after = {key: value for key, value in (BEFORE | changes).items() if key not in removed}
    found = schema_changes(BEFORE, after)
    assert len(found) == bool(named)
    assert not found or named in str(found[0])


def test_a_schema_that_is_not_known_at_either_time_is_not_compared() -> None:
    assert schema_changes({}, BEFORE) == schema_changes(BEFORE, {}) == []
