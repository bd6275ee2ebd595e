"""An imitation of a HammerDB schema and its procedures, of our own, from its documented signatures and habits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.config.load import TRANSACTIONS
from hdbkit.contracts import Arguments, Prepared, Session, UserPlan
from hdbkit.databases import database
from hdbkit.servers import PrivateServer
from hdbkit.workloads.tproc_c.deck import Draws
from hdbkit.workloads.tproc_c.inputs import Inputs

NAME: Final = "hammerdb_like"
_BATCH: Final = 500
_FOLDER: Final = Path(__file__).parent


def copied(server: PrivateServer) -> Target:
    """A second database on the server: its nine tables as HammerDB has them, with the imitation's procedures."""
    engine = database(server.target.kind)
    target = server.target.with_(database=NAME)
    admin: Any = engine.connect(server.maintenance, "server")
    admin.query("copy_database", copy=NAME, original=server.target.database, owner=target.user)
    admin.close()
    session: Any = engine.connect(target, "tproc_c")
    session.execute(_text("tables"))
    for statement in _text("rewrite").split(";\n"):
        session.execute(statement)
    session.execute(_text("routines"))
    session.close()
    return target


class HammerDBLikeUser:
    """A virtual user that calls the imitation's procedures; contract: ``hdbkit.contracts.User``."""

    def __init__(self, session: Session, spec: WorkloadSpec, load: Load, plan: UserPlan) -> None:
        generator = np.random.default_rng(plan.seed)
        self._inputs, self._deck = Inputs(spec, load, plan, generator), Draws(load.weights, generator)
        self._session, self._warehouses = session, spec.warehouses
        own: Any = session
        _, *pieces = re.split(r"^-- name: (\w+)$", _text("calls"), flags=re.MULTILINE)
        for name, text in zip(pieces[::2], pieces[1::2], strict=True):
            own.connection.prepare(name.encode(), text.strip().removesuffix(";").encode())

    def next_batch(self) -> Sequence[Prepared]:
        """The next 500 transactions, drawn and bound."""
        kinds = self._deck.draw(_BATCH).tolist()
        drawn = [iter(self._arguments(name, kinds.count(index))) for index, name in enumerate(TRANSACTIONS)]
        session, batch = self._session, []
        for kind in kinds:
            arguments = next(drawn[kind])
            batch.append(
                Prepared(kind, arguments[0], 0, session.perform, session.bind(TRANSACTIONS[kind], arguments))
            )
        return batch

    def order_id(self, prepared: Prepared, raw: Any) -> int:
        """Not kept."""
        return 0

    def _arguments(self, name: str, count: int) -> Iterable[Arguments]:
        """hdbkit's inputs in the documented order."""
        now = datetime.now()
        as_theirs: dict[str, Callable[..., Arguments]] = {
            "new_order": lambda w, d, c, items, *_: (w, self._warehouses, d, c, len(items), now),
            "payment": lambda w, d, c_w, c_d, c, last, amount: (
                *(w, d, c_w, c_d, int(c is None), amount, last or "", c or 0, now, now),
            ),
            "order_status": lambda w, d, c, last: (w, d, c or 0, int(c is None), last or "", now),
            "delivery": lambda w, carrier: (w, carrier, now),
            "stock_level": lambda w, d, threshold: (w, d, threshold),
        }
        return (as_theirs[name](*arguments) for arguments in getattr(self._inputs, name)(count))


def _text(name: str) -> str:
    return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")
