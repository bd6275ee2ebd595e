"""What killed clients had sent is cancelled in the server, which would execute it once it need not wait any more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from hdbkit.contracts import SERVER, SessionOptions
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, TransactionError
from hdbkit.plan import RunPlan
from hdbkit.results.columns import SESSION_LINES
from hdbkit.sql import SERVER_STATEMENTS, statements

_CANCEL = "cancel_statement"
_CONNECT_S = 2


def cancel_left(plan: RunPlan, spools: Path, clients: Sequence[int]) -> None:
    """Cancel what the last sessions of these clients execute, as far as their numbers are known."""
    engine = database(plan.target)
    numbers = [number for client in clients for number in _numbers(SESSION_LINES.of(spools, client))]
    if not numbers or _CANCEL not in statements(engine.dialects, SERVER_STATEMENTS):
        return
    options = SessionOptions(connect_timeout_s=_CONNECT_S, application="hdbkit stop")
    with suppress(HdbkitError), closing(engine.connect(plan.target, SERVER, options)) as session:
        for number in numbers:
            with suppress(TransactionError):  # it has ended
                session.ask(_CANCEL, number=number)


def _numbers(path: Path) -> list[int]:
    """The number of the last session of each virtual user of a client; none if they were not noted."""
    found: dict[int, int] = {}
    with suppress(OSError, ValueError, KeyError, TypeError):
        for line in path.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            found[one["virtual_user"]] = int(one["number"])
    return list(found.values())
