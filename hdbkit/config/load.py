"""How a workload is driven: virtual users, phases, mix, options. Times are in seconds."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, field_validator

from hdbkit.config.mistakes import did_you_mean
from hdbkit.config.model import ConfigModel
from hdbkit.config.workload_spec import SchemaFrom, WorkloadSpec
from hdbkit.errors import InputError

TRANSACTIONS = ("new_order", "payment", "order_status", "delivery", "stock_level")
SPEC_MIX = {"new_order": 45.0, "payment": 43.0, "order_status": 4.0, "delivery": 4.0, "stock_level": 4.0}
HAMMERDB_MIX = {"new_order": 10.0, "payment": 10.0, "order_status": 1.0, "delivery": 1.0, "stock_level": 1.0}

MOST_USERS = 10_000


class Routines(StrEnum):
    """Where the work of a transaction is written."""

    STORED = "stored"
    CLIENT = "client"


class InputRules(StrEnum):
    """Whose rules draw the inputs: the specification's, or HammerDB's simplified ones."""

    SPEC = "spec"
    HAMMERDB = "hammerdb"


class Isolation(StrEnum):
    """Isolation level of the transactions, in the words of the SQL standard."""

    READ_COMMITTED = "read_committed"
    REPEATABLE_READ = "repeatable_read"
    SERIALIZABLE = "serializable"


class Load(ConfigModel):
    """How a workload is driven.

    Example:
        >>> Load(virtual_users=8, rampup_s=30, duration_s=120).virtual_users
        8
    """

    virtual_users: int = Field(default=1, ge=1, le=MOST_USERS, description="client processes")
    rampup_s: float = Field(default=120, ge=0, le=86_400, description="seconds before the measured window")
    rampup_most_s: float = Field(
        default=0,
        ge=0,
        le=86_400,
        description="let the rampup go on, at most so long in all, while a checkpoint's full-page images fall; 0: no",
    )
    duration_s: float = Field(default=300, gt=0, le=604_800, description="seconds of the measured window")
    iterations: int | None = Field(default=None, ge=1, description="most transactions of a virtual user")
    mix: dict[str, float] | None = Field(
        default=None, description="weight of each transaction; none: 45/43/4/4/4, or HammerDB's 10/10/1/1/1"
    )
    routines: Routines = Field(default=Routines.STORED, description="stored routines or client SQL")
    input_rules: InputRules = Field(default=InputRules.SPEC, description="whose rules draw the inputs")
    all_warehouses: bool = Field(default=False, description="draw the warehouse anew for each transaction")
    keying_and_thinking: bool = Field(default=False, description="keying and thinking times of TPC-C 5.2.5")
    isolation: Isolation | None = Field(default=None, description="isolation level; none: the server's own")
    statement_timeout_ms: int = Field(default=0, ge=0, description="0: none")
    lock_timeout_ms: int = Field(default=0, ge=0, description="0: none")
    max_retries: int = Field(default=10, ge=0, le=255, description="tries after a deadlock or serialization failure")
    raise_error: bool = Field(default=False, description="end the run at the first failed transaction")
    keep_order_ids: bool = Field(default=False, description="keep the order id of each new order")
    counter_interval_s: float = Field(
        default=5, ge=0.1, description="seconds between samples of the server's counters"
    )
    seed: int = Field(default=1, ge=0, lt=2**63, description="seed of inputs and of the order of transactions")

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

    @property
    def longest_s(self) -> float:
        """The longest that rampup and window can take together, in seconds."""
        return max(self.rampup_s, self.rampup_most_s) + self.duration_s

    def on(self, schema: WorkloadSpec) -> Load:
        """This load as ``schema`` takes it: HammerDB's routines draw much of their input themselves, by its rules.

        Raises:
            InputError: another way was asked for.
        """
        if schema.schema_from is SchemaFrom.HDBKIT:
            return self
        for name, only in (("routines", Routines.STORED), ("input_rules", InputRules.HAMMERDB)):
            given = getattr(self, name)
            if given is not only and name in self.model_fields_set:
                raise InputError(
                    f"a schema of HammerDB's is run with {name} {only.value}, not {given.value}; leave it out"
                )
        return self.model_copy(update={"input_rules": InputRules.HAMMERDB})

    @property
    def weights(self) -> dict[str, float]:
        """The weight of every transaction, from ``mix`` or from the input rules' own."""
        own = SPEC_MIX if self.input_rules is InputRules.SPEC else HAMMERDB_MIX
        return dict(own) if self.mix is None else {name: self.mix.get(name, 0.0) for name in TRANSACTIONS}
