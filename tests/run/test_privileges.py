"""What an account lacks is reported before a run, with the commands that grant it; the run would only fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pandas as pd
import pytest
from pydantic import SecretStr

import hdbkit
from hdbkit.config import Load, Target
from hdbkit.databases import sql_session
from hdbkit.errors import InputError
from hdbkit.servers import PrivateServer

QUICK = Load(virtual_users=1, rampup_s=0, duration_s=0.3)


def administer(server: PrivateServer, *commands: str) -> None:
    with closing(sql_session(server.admin)) as session:
        for command in commands:
            session.execute(command)


def found(target: Target, subject: str) -> pd.DataFrame:
    return hdbkit.doctor(target).query("subject == @subject")


@pytest.fixture
def reader(built: PrivateServer) -> Iterator[Target]:
    """An account that may read the schema, and nothing else."""
    may_read = "GRANT SELECT ON ALL TABLES IN SCHEMA tproc_c TO reader"
    administer(built, "CREATE ROLE reader LOGIN PASSWORD 'of-the-test'", "GRANT USAGE ON SCHEMA tproc_c TO reader")
    administer(built, may_read)
    yield built.target.with_(
        user="reader",
        password=SecretStr("of-the-test"),
        server_folder=None,
        password_file=None,
        may_change_settings=False,
    )
    administer(built, "DROP OWNED BY reader", "DROP ROLE reader")


def test_an_account_that_may_not_analyze_is_refused_with_analyze(reader: Target) -> None:
    load = QUICK.model_copy(update={"analyze": True, "read_only": True})
    with pytest.raises(InputError, match=r"^account reader may not analyze customer, .*; omit --analyze, or use"):
        hdbkit.run(reader, load=load)


def test_an_account_that_may_not_change_the_tables_is_refused_with_grants_that_suffice(
    built: PrivateServer, reader: Target
) -> None:
    hdbkit.run(reader, load=QUICK.model_copy(update={"read_only": True}))
    with pytest.raises(InputError) as refused:
        hdbkit.run(reader, load=QUICK)
    head, _, grants = str(refused.value).partition("; run as an administrator in database hdbkit: ")
    assert head == f"account reader lacks privileges on the schema in {reader.url}"
    advised = found(reader, "privileges")["advice"].str.removesuffix(";")
    assert set(grants.split("; ")) <= set(advised)
    administer(built, *grants.split("; "))
    result = hdbkit.run(reader, load=QUICK)
    assert (result.summary["failed"], result.summary["completed"] > 0) == (0, True)


def test_an_account_that_may_not_read_the_schema_is_told_the_grants(built: PrivateServer, reader: Target) -> None:
    administer(built, "REVOKE USAGE ON SCHEMA tproc_c FROM reader")
    with pytest.raises(InputError, match="in database hdbkit: GRANT USAGE ON SCHEMA tproc_c TO reader"):
        hdbkit.run(reader, load=QUICK)
    (finding,) = found(reader, "schema").to_dict("records")
    assert (finding["state"], "GRANT USAGE ON SCHEMA tproc_c" in finding["advice"]) == ("problem", True)
