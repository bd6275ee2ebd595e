"""TPROC-C's own part of a specification and of a load: scale, who made the schema, mix, input rules."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from hdbkit.config.load import Load
from hdbkit.config.problems import did_you_mean
from hdbkit.config.workload_spec import CreatedBy, SchemaFrom, WorkloadSpec

TRANSACTIONS: Final = ("new_order", "payment", "order_status", "delivery", "stock_level")
_OF_OTHER_TOOLS: Final = {"neword": "new_order", "ostat": "order_status", "slev": "stock_level"}
READING: Final = frozenset({"order_status", "stock_level"})
SPEC_MIX: Final = {"new_order": 45.0, "payment": 43.0, "order_status": 4.0, "delivery": 4.0, "stock_level": 4.0}
HAMMERDB_MIX: Final = {"new_order": 10.0, "payment": 10.0, "order_status": 1.0, "delivery": 1.0, "stock_level": 1.0}


class Routines(StrEnum):
    """Where the logic of a transaction runs."""

    STORED = "stored"
    CLIENT = "client"


class InputRules(StrEnum):
    """Whose rules draw the inputs: the specification's, or HammerDB's simplified ones."""

    SPEC = "spec"
    HAMMERDB = "hammerdb"


class TprocCSpec(WorkloadSpec):
    """A TPROC-C schema: its number of warehouses, and the tool that created it.

    Example:
        >>> TprocCSpec(warehouses=10).warehouses
        10
    """

    is_default: ClassVar[bool] = True
    scale_field: ClassVar[str] = "warehouses"

    kind: Literal["tproc_c"] = Field(default="tproc_c", description="the workload: tproc_c (OLTP)")
    warehouses: int = Field(default=1, ge=1, le=100_000, description="scale: number of warehouses")
    schema_from: CreatedBy = SchemaFrom.HDBKIT

    @property
    def slug(self) -> str:
        """A short form for run ids: ``c-w100``."""
        return f"c-w{self.warehouses}"

    @property
    def by_hammerdb(self) -> bool:
        """Whether HammerDB created the schema."""
        return self.schema_from is SchemaFrom.HAMMERDB


class TprocCLoad(Load):
    """The load of TPROC-C.

    Example:
        >>> TprocCLoad(mix={"new_order": 1}).weights["payment"]
        0.0
    """

    mix: dict[str, float] | None = Field(
        default=None, description="weight of each transaction; none: 45/43/4/4/4, or HammerDB's 10/10/1/1/1"
    )
    routines: Routines | None = Field(
        default=None,
        description="stored routines, or the same from the client; none: stored where the engine has them",
    )
    input_rules: InputRules = Field(default=InputRules.SPEC, description="whose rules draw the inputs")
    all_warehouses: bool = Field(default=False, description="draw a new warehouse for each transaction")
    remote_warehouses: bool = Field(
        default=True, description="let 1 % of order lines and 15 % of payments use another warehouse"
    )
    keep_order_ids: bool = Field(default=False, description="keep the order id of each new order")

    @field_validator("mix", mode="before")
    @classmethod
    def _mix_of_other_tools(cls, mix: Any) -> Any:
        """Names as other tools write them; weights without names are in the order of ``TRANSACTIONS``."""
        if isinstance(mix, list | tuple):
            if len(mix) != len(TRANSACTIONS):
                raise ValueError(f"give a weight for each of {', '.join(TRANSACTIONS)}, not {len(mix)} weights")
            return dict(zip(TRANSACTIONS, mix, strict=True))
        if not isinstance(mix, dict):
            return mix
        known = _OF_OTHER_TOOLS | {name.replace("_", ""): name for name in TRANSACTIONS}
        names = {name: known.get(re.sub(r"[^a-z0-9]", "", str(name).lower()), name) for name in mix}
        if len({*names.values()}) < len(names):
            raise ValueError(f"a transaction occurs twice in {', '.join(names)}")
        return {names[name]: weight for name, weight in mix.items()}

    @field_validator("mix")
    @classmethod
    def _mix_is_known(cls, mix: dict[str, float] | None) -> dict[str, float] | None:
        for name, weight in (mix or {}).items():
            if name not in TRANSACTIONS:
                raise ValueError(f"unknown transaction '{name}'.{did_you_mean(name, TRANSACTIONS)}")
            if weight < 0:
                raise ValueError(f"the weight of {name} must be 0 or more, not {weight}")
        if mix is not None and not sum(mix.values()):
            raise ValueError("at least one transaction needs a weight above 0")
        return mix

    @model_validator(mode="after")
    def _mix_reads(self) -> Self:
        if not sum(self.weights.values()):
            raise ValueError(f"read_only needs a weight above 0 for {' or '.join(sorted(READING))}")
        return self

    @property
    def weights(self) -> dict[str, float]:
        """The weight of every transaction, from ``mix`` or from the input rules' own; of those that may run."""
        own = SPEC_MIX if self.input_rules is InputRules.SPEC else HAMMERDB_MIX
        mix = own if self.mix is None else self.mix
        runs = READING if self.read_only else {*TRANSACTIONS}
        return {name: mix.get(name, 0.0) if name in runs else 0.0 for name in TRANSACTIONS}
