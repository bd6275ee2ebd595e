"""The address by which a server is known."""

from __future__ import annotations

import pytest

from hdbkit.config import Target
from hdbkit.servers.server_access import host_of


@pytest.mark.parametrize("host", [None, "localhost", "LOCALHOST", "127.0.0.1", "::1", "/var/run/postgresql"])
def test_each_name_of_this_host_is_the_same_address(host: str | None) -> None:
    assert host_of(Target(kind="postgresql", host=host)) == "postgresql://localhost:"
    assert host_of(Target(kind="postgresql", host="DB1")) == "postgresql://db1:"
