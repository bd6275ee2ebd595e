"""Values that an ordinary account sets through SQL, with which the server does not start or rejects sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from hdbkit.config import ControlSpec, Target
from hdbkit.databases import sql_session
from hdbkit.errors import ServerFailed
from hdbkit.servers import PrivateServer, control
from tests.run.agents import commands_of

SETTINGS = ("shared_buffers", "max_connections")
GRANTS = [
    *(f"GRANT ALTER SYSTEM ON PARAMETER {name} TO hdbkit" for name in SETTINGS),
    "GRANT SELECT ON pg_file_settings TO hdbkit",
    "GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO hdbkit",
    "GRANT EXECUTE ON FUNCTION pg_reload_conf() TO hdbkit",
]


@pytest.fixture(scope="module")
def ordinary(built: PrivateServer) -> Iterator[Target]:
    """The server with commands, and the account of the measured clients, which may set these settings by SQL."""
    with closing(sql_session(built.admin)) as admin:
        for grant in GRANTS:
            admin.execute(grant)
        commands = ControlSpec(commands=commands_of(built))
        yield built.target.with_(server_folder=None, may_change_settings=True, may_restart=True, control=commands)
    with closing(sql_session(built.admin)) as admin:
        for grant in GRANTS:
            admin.execute(grant.replace("GRANT", "REVOKE").replace(" TO ", " FROM "))


def auto_file(server: PrivateServer) -> str:
    """The content of the file that the server itself writes its changed settings to."""
    return (server.place.data / "postgresql.auto.conf").read_text()


def test_the_file_of_an_account_that_may_not_see_the_data_folder_is_found_by_the_servers_process(
    built: PrivateServer, ordinary: Target
) -> None:
    it, content = control(ordinary), auto_file(built)
    with pytest.raises(ServerFailed, match=r"Cannot allocate memory.*the settings are as before") as failed:
        it.apply({"shared_buffers": "7TB"})
    assert f"| {built.place.log}: " in str(failed.value), "the log that no target names"
    assert auto_file(built) == content
    assert it.settings()["shared_buffers"].value == "16384"
