"""What values of settings can lose: declared for every engine, and said beside a gain."""

from __future__ import annotations

import pandas as pd
import pytest

from hdbkit.api.prices import prices_of_cells, prices_of_sides
from hdbkit.config.prices import declared_prices, price_of
from hdbkit.databases import built_in, database

POSTGRESQL = database("postgresql").dialects


@pytest.mark.parametrize("kind", [kind for kind in built_in() if kind not in ("nulldb", "odbc", "duckdb")])
def test_every_engine_with_durable_commits_has_prices_of_its_own(kind: str) -> None:
    own = declared_prices(database(kind).dialects).keys() - {"isolation"}
    assert own


@pytest.mark.parametrize(
    ("kind", "setting", "value", "lost"),
    [
        ("postgresql", "synchronous_commit", "off", "0.6 s"),
        ("postgresql", "SYNCHRONOUS_COMMIT", "False", "0.6 s"),
        ("postgresql", "synchronous_commit", "no", "0.6 s"),
        ("postgresql", "fsync", "0", "whole database"),
        ("postgresql", "synchronous_commit", "on", ""),
        ("postgresql", "synchronous_commit", "1", ""),
        ("mysql", "sync_binlog", "1000", "binary log"),
        ("mysql", "sync_binlog", "1", ""),
        ("mariadb", "innodb_flush_log_at_trx_commit", "2", "acknowledged commits"),
        ("mariadb", "innodb_doublewrite", "OFF", "half written"),
        ("redis", "appendfsync", "everysec", "2 s"),
        ("redis", "appendfsync", "always", ""),
        ("redis", "appendonly", "no", "last snapshot"),
        ("redis", "appendonly", "yes", ""),
        ("sqlserver", "memory_optimized", "SCHEMA_ONLY", "all rows"),
        ("oracle", "isolation", "read_committed", "changes that another one has made"),
    ],
)
def test_a_value_that_can_lose_something_says_what(kind: str, setting: str, value: str, lost: str) -> None:
    price = price_of(database(kind).dialects, setting, value)
    assert (lost in price.lost) if price and lost else (price is None and not lost)


def test_only_what_differs_between_configurations_has_its_price() -> None:
    cells = [{"synchronous_commit": "on", "fsync": "off"}, {"synchronous_commit": "off", "fsync": "off"}]
    (price,) = prices_of_cells("postgresql", cells)
    assert price.sentence == (
        "The price of synchronous_commit=off: a crash of the server can lose acknowledged commits of three times "
        "wal_writer_delay (0.6 s by default); data stay consistent (PostgreSQL documentation, section 28.4)"
    )


def test_each_side_has_its_own_prices() -> None:
    apart = pd.DataFrame(
        {"base": ["on", "", "everysec"], "new": ["off", "4MB", ""]},
        index=["setting.fsync", "setting.work_mem", "setting.appendfsync"],
    )
    found = prices_of_sides(["redis", "postgresql"], ["old", "new"], apart)
    assert [(price.of, price.setting, price.value) for price in found] == [
        ("new", "fsync", "off"), ("old", "appendfsync", "everysec"),
    ]  # fmt: skip
    assert "The price of fsync=off of new: a failure of the host can lose the whole database" in found[0].sentence
