"""Settings that make a test server without valuable data fast, by kind of server."""

from __future__ import annotations

from typing import Final

_NO_FLUSH: Final = {"innodb_flush_log_at_trx_commit": "0"}

QUICK: Final = {
    "postgresql": {"fsync": "off", "full_page_writes": "off", "deadlock_timeout": "100ms"},
    "mariadb": _NO_FLUSH,
    "mysql": _NO_FLUSH,
}
