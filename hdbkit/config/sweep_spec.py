"""What a sweep tries: our YAML form, and hammerpost's ``params.json`` as it is.

Values, ranges and formulas are in ``sweep_values``, options of the load and the schema in ``sweep_factors``, the
expressions of constraints in ``expressions``. Formulas that need facts of the database's host stay as they are
written until :meth:`SweepSpec.resolved` is told the facts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import (
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from hdbkit.config.expressions import Expression, Value, value_of
from hdbkit.config.files import read_yaml, validate
from hdbkit.config.load import MAX_USERS, AnyLoad, Load
from hdbkit.config.model import ConfigModel
from hdbkit.config.origin import At, Origin
from hdbkit.config.problems import did_you_mean
from hdbkit.config.sweep_fields import Condition, Factors, Text, Values
from hdbkit.config.sweep_values import (
    Formula,
    is_formula,
    special_texts,
)
from hdbkit.config.workload_spec import AnyWorkload
from hdbkit.errors import ConfigErrors, InputError

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,40}$"


class Reset(StrEnum):
    """What is done to the data before each run."""

    AUTO = "auto"
    RESTORE = "restore"
    NONE = "none"


class Cache(StrEnum):
    """What the server's cache holds when a run begins."""

    WARM = "warm"
    RESTART = "restart"


class Cooldown(StrEnum):
    """When the rest before a run ends."""

    IDLE = "idle"
    FIXED = "fixed"


class Strategy(StrEnum):
    """Which configurations are run: all of the grid, or those that a search asks for, a few in each block."""

    GRID = "grid"
    SEARCH = "search"

    @classmethod
    def _missing_(cls, value: object) -> Strategy | None:
        """The name of the search in older files."""
        return cls.SEARCH if value == "optuna" else None


class AbortRules(ConfigModel):
    """What a run may not do. One that does is failed, and its configuration is not run in later blocks.

    It ends as soon as that is certain.
    """

    failed_share: float | None = Field(
        default=None, gt=0, lt=1, description="largest share of transactions that may fail, such as 0.01"
    )
    latency_p95_ms: float | None = Field(
        default=None, gt=0, description="largest 95 % quantile of the counted transaction's service time"
    )


class SweepSpec(ConfigModel):
    """A grid of settings and factors x virtual users, measured in randomized complete blocks.

    The first value of each setting is the baseline's unless ``baseline`` names another.
    """

    name: str = Field(default="sweep", pattern=_NAME)
    question: str | None = Field(default=None, description="the question the sweep answers, for its report")
    facts: dict[str, Text] = Field(
        default_factory=dict,
        description="of the database's host, for formulas and constraints: {ram: 64GB}",
    )
    settings: dict[str, Values] = Field(default_factory=dict, description="the values of each setting of the server")
    factors: Factors = Field(default_factory=dict, description="the values of options of the load and the schema")
    special: dict[str, tuple[Text, ...]] = Field(
        default_factory=dict,
        description="values that have no size, such as -1; constraints pass them by",
    )
    constraints: tuple[Condition, ...] = Field(
        default=(), description="what must hold in each configuration, such as max_wal_size >= 2 * min_wal_size"
    )
    baseline: dict[str, Text] = Field(default_factory=dict, description="the baseline's value of a setting or factor")
    virtual_users: tuple[int, ...] = Field(default=(4,), min_length=1, description="counts to run at")
    strategy: Strategy = Field(
        default=Strategy.GRID, description="all configurations in each block, or those that a search asks for"
    )
    asked: int = Field(default=5, ge=1, le=100, description="configurations a search asks for in each block")
    end_early: bool = Field(
        default=True,
        description="end a run of a search once it is certain to stay far below the three fastest so far",
    )
    blocks: int = Field(default=8, ge=2, le=1000, description="passes over all configurations")
    looks: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        default=(),
        description="numbers of blocks after which it ends once all is decided; the last is all: [4, 8, 12]",
    )
    winner_blocks: int = Field(
        default=0, ge=0, le=1000, description="fresh blocks of the three fastest and the baseline at the end; 0: none"
    )
    smallest_effect: float = Field(default=0.02, gt=0, lt=1, description="the smallest ratio that matters")
    reset: Reset = Field(
        default=Reset.AUTO, description="data before each run; auto: restore on a private server, else none"
    )
    cache: Cache = Field(
        default=Cache.WARM, description="before each run; warm: as the maintenance left it, restart: emptied by one"
    )
    cooldown: Cooldown = Field(
        default=Cooldown.IDLE, description="rest before each run; idle: until the hosts do little, fixed: cooldown_s"
    )
    cooldown_s: float = Field(default=0, ge=0, le=3600, description="the longest rest before each run, in seconds")
    time_budget_s: float | None = Field(
        default=None, gt=0, description="the longest that all blocks may take; a plan that takes longer is refused"
    )
    abort: AbortRules = Field(default=AbortRules(), description="what makes a run fail")
    seed: int = Field(default=1, ge=0, lt=2**63, description="seed of the order of runs")
    load: AnyLoad = Field(default_factory=Load)
    workload: AnyWorkload | None = Field(default=None, description="what must be there; none: what was built")

    _origin: Origin = PrivateAttr(default=Origin())

    @model_validator(mode="before")
    @classmethod
    def _special_beside_ranges(cls, content: Any) -> Any:
        """The special values that stand in a range are those of its setting."""
        settings = content.get("settings") if isinstance(content, dict) else None
        if not isinstance(settings, dict) or not isinstance(content.get("special", {}), dict):
            return content
        found = {name: special for name, values in settings.items() if (special := _special(values))}
        return {**content, "special": {**found, **content.get("special", {})}} if found else content

    @model_validator(mode="before")
    @classmethod
    def _all_blocks_at_the_last_look(cls, content: Any) -> Any:
        """Looks alone tell the number of blocks."""
        looks = content.get("looks") if isinstance(content, dict) and "blocks" not in content else None
        last = looks[-1] if isinstance(looks, list | tuple) and looks else None
        return {**content, "blocks": last} if isinstance(last, int) else content

    @field_validator("looks")
    @classmethod
    def _looks_ascend(cls, looks: tuple[int, ...]) -> tuple[int, ...]:
        if list(looks) != sorted(set(looks)):
            raise ValueError(f"each number of blocks once and ascending, not {list(looks)}")
        return looks

    @field_validator("winner_blocks")
    @classmethod
    def _enough_to_judge(cls, blocks: int) -> int:
        if blocks == 1:
            raise ValueError("one block has no replication; give 2 or more, or 0 for none")
        return blocks

    @model_validator(mode="after")
    def _a_search_has_no_looks(self) -> SweepSpec:
        if self.looks and self.strategy is not Strategy.GRID:
            raise ValueError("looks belong to a grid; a search ends after its blocks")
        return self

    @model_validator(mode="after")
    def _the_last_look_is_the_end(self) -> SweepSpec:
        if self.looks and self.looks[-1] != self.blocks:
            raise ValueError(f"looks: the last must be the number of blocks, {self.blocks}, not {self.looks[-1]}")
        return self

    @field_validator("virtual_users")
    @classmethod
    def _user_counts(cls, counts: tuple[int, ...]) -> tuple[int, ...]:
        for count in counts:
            if not 1 <= count <= MAX_USERS:
                raise ValueError(f"each must be 1 to {MAX_USERS}, not {count}")
        if len(set(counts)) < len(counts):
            raise ValueError(f"each count once, not {list(counts)}")
        return counts

    @field_validator("load")
    @classmethod
    def _users_at_the_top(cls, load: Load) -> Load:
        if load.virtual_users != Load.model_fields["virtual_users"].default:
            raise ValueError(
                f"virtual_users stands beside load in a sweep, not in it; write virtual_users: [{load.virtual_users}]"
            )
        return load

    @field_validator("special", "baseline")
    @classmethod
    def _of_this_sweep(cls, given: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if not {"settings", "factors"} <= info.data.keys():
            return given
        known = {**info.data["settings"], **info.data["factors"]}
        for name, wanted in given.items():
            if name not in known:
                raise ValueError(f"'{name}' is not among the settings and factors.{did_you_mean(name, list(known))}")
            if info.field_name == "baseline" and wanted not in known[name] and not any(map(is_formula, known[name])):
                raise ValueError(f"{name} = {wanted} is not among its values {list(known[name])}")
        return given

    @model_validator(mode="after")
    def _tries_something(self) -> SweepSpec:
        if not self.grid:
            raise ValueError("give at least one of the settings, or of the factors, with the values to try")
        both = self.settings.keys() & self.factors.keys()
        if both:
            raise ValueError(f"'{min(both)}' stands among the settings and the factors; leave it out of one of them")
        return self

    @property
    def grid(self) -> dict[str, tuple[str, ...]]:
        """The values of every setting and factor, in the order in which a configuration has them."""
        return {**self.settings, **self.factors}

    @property
    def missing_facts(self) -> frozenset[str]:
        """The facts that formulas and constraints need and that are not given."""
        formulas = [Formula.read(text) for values in self.grid.values() for text in values if is_formula(text)]
        names = [*(one.names for one in formulas), *(Expression(text).names for text in self.constraints)]
        used = frozenset[str]().union(*names)
        return used - self.grid.keys() - self.facts.keys()

    @property
    def fact_values(self) -> dict[str, Value]:
        """The facts as values of expressions."""
        return {name: value_of(text) for name, text in self.facts.items()}

    def resolved(self, facts: Mapping[str, str] = MappingProxyType({})) -> SweepSpec:
        """The same sweep with all formulas worked out; ``facts`` of the host are kept in it, its own win.

        Raises:
            InputError: a fact is missing.
            ConfigErrors: a formula makes no sense with these facts.
        """
        used = {name: facts[name] for name in self.missing_facts if name in facts}
        whole = self.with_(facts={**self.facts, **used}) if used else self
        if whole.missing_facts:
            listed = ", ".join(f"{name}: ..." for name in sorted(whole.missing_facts))
            raise InputError(
                f"the sweep '{self.name}' needs facts of the database's host that are not known; "
                f"write into its file: facts: {{{listed}}}"
            )
        if not any(is_formula(text) for values in self.grid.values() for text in values):
            return whole
        return whole._worked_out()

    def _worked_out(self) -> SweepSpec:
        problems: list[tuple[At, str]] = []
        settings, factors = (
            {name: self._values((of, name), values, problems) for name, values in given.items()}
            for of, given in (("settings", self.settings), ("factors", self.factors))
        )
        baseline = {
            name: self._values(("baseline", name), (text,), problems)[0] for name, text in self.baseline.items()
        }
        if problems:
            raise self.errors(*problems)
        try:
            return self.with_(settings=settings, factors=factors, baseline=baseline)
        except ConfigErrors as error:
            raise self.errors(*(((one.where,), one.what) for one in error.problems)) from None

    def _values(self, at: At, texts: tuple[str, ...], problems: list[tuple[At, str]]) -> tuple[str, ...]:
        found: list[str] = []
        for text in texts:
            try:
                found += Formula.read(text).values(self.fact_values) if is_formula(text) else [text]
            except ValueError as problem:
                problems.append((at, str(problem)))
                found.append(text)
        return tuple(dict.fromkeys(found))

    def errors(self, *problems: tuple[At, str]) -> ConfigErrors:
        """What is found wrong with the sweep later on, told with the file and the lines it was read from."""
        return self._origin.errors(f"the sweep '{self.name}'", problems)

    def with_(self, **changes: Any) -> SweepSpec:
        """The same sweep with some fields changed. Raises ``ConfigErrors`` when it makes no sense so."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        made = type(self)(**{**fields, **changes})
        made._origin = self._origin
        return made

    @classmethod
    def read(cls, path: Path, **changes: Any) -> SweepSpec:
        """The sweep in a YAML file, in the plan of an earlier sweep, or in hammerpost's ``{setting: [values]}``.

        ``changes`` (not None) replace top-level keys, as the command line's options do.
        """
        content, lines = read_yaml(path)
        if isinstance(content, dict) and isinstance(content.get("spec"), dict) and "sweep_id" in content:
            content, lines = (
                content["spec"],
                {place[1:]: line for place, line in lines.items() if place[:1] == ("spec",)},
            )
        if isinstance(content, dict) and "settings" not in content and _is_hammerpost(content):
            lines = {("settings", *place): line for place, line in lines.items()}
            content = {"name": path.stem if re.fullmatch(_NAME, path.stem) else "sweep", "settings": content}
        given = {key: value for key, value in changes.items() if value is not None}
        if isinstance(content, dict):
            content = {**content, **given}
        spec = validate(content, cls, source=str(path), lines=lines)
        spec._origin = Origin(str(path), lines)
        return spec


def _special(values: object) -> tuple[str, ...]:
    """The special values in what is written for a setting; none where that has an error, which is told elsewhere."""
    try:
        return special_texts(values)
    except ValueError:
        return ()


def _is_hammerpost(content: dict[Any, Any]) -> bool:
    keys = set(SweepSpec.model_fields)
    return bool(content) and not keys & set(content) and all(isinstance(v, list) for v in content.values())
