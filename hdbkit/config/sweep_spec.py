"""The specification of a sweep: YAML files, and hammerpost's ``params.json`` unchanged.

Values, ranges and formulas are in ``sweep_values``, options of the load and the schema in ``sweep_factors``, the
expressions of constraints in ``expressions``. Formulas that need facts of the database's host remain formulas until
:meth:`SweepSpec.resolved` evaluates them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from hdbkit.config.expressions import Value, value_of
from hdbkit.config.files import At, Origin, read_yaml, validate
from hdbkit.config.load import MAX_USERS, Load
from hdbkit.config.model import ConfigModel
from hdbkit.config.preparation import Preparation
from hdbkit.config.problems import did_you_mean
from hdbkit.config.server_files import settings_of_file
from hdbkit.config.specs import AnyLoad, AnyWorkload
from hdbkit.config.sweep_factors import Constraint, Factors, FactorValues, Facts, SettingText, ValueText
from hdbkit.config.sweep_values import Formula, names_of, special_texts
from hdbkit.config.until_decided import MAX_UNTIL_DECIDED
from hdbkit.errors import ConfigErrors, InputError

_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,40}$"
_SECRET = re.compile(r"pass(word|wd|phrase)?$|secret|(master|sst_)auth$|filekey$", re.IGNORECASE)
"""Names of settings whose values the results of a sweep must not have."""
_FILE_NAME = r"^[^\x00-\x1f\x7f]{1,255}$"
FILES = "settings_file"
"""The field, and the name in a configuration, of the files of which each is one value."""


class Strategy(StrEnum):
    """Which configurations run: the whole grid, or those that a search selects for each block."""

    GRID = "grid"
    SEARCH = "search"


class CompareBy(StrEnum):
    """What is compared: whole runs, or slices of one run in which the configurations alternate."""

    AUTO = "auto"
    RUNS = "runs"
    SLICES = "slices"


class AbortRules(ConfigModel):
    """Limits of a run. A run that exceeds one fails, and its configuration does not run in later blocks.

    The run ends as soon as it exceeds a limit with a confidence of 99.9 %.
    """

    failed_share: float | None = Field(
        default=None, gt=0, lt=1, description="maximum share of failed operations, such as 0.01"
    )
    latency_p95_ms: float | None = Field(
        default=None,
        gt=0,
        description="maximum 95 % quantile of the latency of the metric's first operation (open loop: response time)",
    )


class SweepSpec(Preparation):
    """A grid of settings, factors and virtual users, measured in randomized complete blocks.

    The first value of each setting belongs to the baseline, unless ``baseline`` gives another.
    """

    noun: ClassVar[str] = "the sweep"

    name: str = Field(default="sweep", pattern=_NAME)
    question: str | None = Field(default=None, description="the question the sweep answers, for its report")
    facts: Facts = Field(
        default_factory=dict, description="facts of the database's host for formulas and constraints: {ram: 64GB}"
    )
    settings: dict[str, FactorValues] = Field(default_factory=dict, description="values of each server setting")
    factors: Factors = Field(default_factory=dict, description="values of options of the load and the schema")
    settings_file: dict[Annotated[str, Field(pattern=_FILE_NAME)], dict[str, SettingText]] = Field(
        default_factory=dict,
        description="settings that change together, by the name of their set; in a file also a list of the "
        "server's configuration files: [tuned.conf, own.conf]",
    )
    special: dict[str, tuple[SettingText, ...]] = Field(
        default_factory=dict, description="values that are not sizes, such as -1; constraints ignore them"
    )
    constraints: tuple[Constraint, ...] = Field(
        default=(),
        max_length=100,
        description="conditions on each configuration, such as max_wal_size >= 2 * min_wal_size",
    )
    baseline: dict[str, ValueText] = Field(
        default_factory=dict, description="the baseline's values of settings and factors"
    )
    virtual_users: tuple[int, ...] = Field(default=(4,), min_length=1, description="numbers of virtual users")
    strategy: Strategy = Field(
        default=Strategy.GRID,
        description="grid: all configurations in each block; search: those that a search selects",
    )
    asked: int = Field(default=5, ge=1, le=100, description="configurations that a search selects for each block")
    end_early: bool = Field(
        default=True,
        description="search by a rate: end a run once its 99.9 % interval is far below the three fastest so far",
    )
    blocks: int = Field(default=8, ge=2, le=1000, description="passes over all configurations")
    looks: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        default=(),
        description="numbers of blocks after which the sweep ends if all is decided; the last is blocks: [4, 8, 12]",
    )
    until_decided: bool = Field(
        default=False,
        description="look after each block, and end when all is decided or time_budget_s is over; at most 60 blocks",
    )
    drop_decided: bool = Field(
        default=True,
        description="with looks: a configuration that a look decides is not run in later blocks; the baseline is",
    )
    winner_blocks: int = Field(
        default=0,
        ge=0,
        le=1000,
        description="confirmation blocks of the three fastest and the baseline at the end; 0: none",
    )
    smallest_effect: float = Field(
        default=0.02, gt=0, lt=1, description="smallest relative difference that matters; smaller ones are equivalent"
    )
    compare_by: CompareBy = Field(
        default=CompareBy.AUTO,
        description=(
            "runs: one configuration per run; slices: all alternate within each run; auto: slices if the account can "
            "set all settings in a session and a run holds ten cycles"
        ),
    )
    slice_s: float | None = Field(
        default=None,
        ge=0.05,
        le=60,
        description="length of a slice, in seconds; none: 0.25 to 1 in a session, 2 on the server",
    )
    time_budget_s: float | None = Field(
        default=None, gt=0, description="maximum duration of all blocks, in seconds; a longer plan is an error"
    )
    abort: AbortRules = Field(default=AbortRules(), description="limits; a run that exceeds one fails")
    seed: int = Field(default=1, ge=0, lt=2**63, description="seed of the order of runs")
    load: AnyLoad = Field(default_factory=Load, description="load of each run")
    workload: AnyWorkload | None = Field(
        default=None, description="workload and schema; none: the schema that exists"
    )

    @property
    def preparation(self) -> Preparation:
        """How the server is prepared before each run."""
        return self.before(self.load)

    _origin: Origin = PrivateAttr(default=Origin())

    @model_validator(mode="before")
    @classmethod
    def _special_beside_ranges(cls, content: Any) -> Any:
        """Collect the special values of ranges."""
        settings = content.get("settings") if isinstance(content, dict) else None
        if not isinstance(settings, dict) or not isinstance(content.get("special", {}), dict):
            return content
        found = {name: special for name, values in settings.items() if (special := _special(values))}
        return {**content, "special": {**found, **content.get("special", {})}} if found else content

    @model_validator(mode="before")
    @classmethod
    def _all_blocks_at_the_last_look(cls, content: Any) -> Any:
        """Without ``blocks``, the last look is the number of blocks; until all is decided there are many."""
        if not isinstance(content, dict) or "blocks" in content:
            return content
        looks = (MAX_UNTIL_DECIDED,) if content.get("until_decided") is True else content.get("looks")
        last = looks[-1] if isinstance(looks, list | tuple) and looks else None
        return {**content, "blocks": last} if isinstance(last, int) else content

    @field_validator("looks")
    @classmethod
    def _looks_ascend(cls, looks: tuple[int, ...]) -> tuple[int, ...]:
        if list(looks) != sorted(set(looks)):
            raise ValueError(f"must be ascending and without duplicates, not {list(looks)}")
        return looks

    @field_validator("winner_blocks")
    @classmethod
    def _enough_to_judge(cls, blocks: int) -> int:
        if blocks == 1:
            raise ValueError("one block has no replication; give 2 or more, or 0 for none")
        return blocks

    @model_validator(mode="after")
    def _ends_by_one_rule(self) -> SweepSpec:
        if self.looks and self.strategy is not Strategy.GRID:
            raise ValueError("looks are only for a grid; a search ends after its blocks")
        if self.until_decided and (self.looks or self.winner_blocks or self.strategy is not Strategy.GRID):
            raise ValueError("until_decided is for a grid without looks and winner_blocks")
        if self.looks and self.looks[-1] != self.blocks:
            raise ValueError(f"looks: the last must equal blocks ({self.blocks}), not {self.looks[-1]}")
        return self

    @field_validator("virtual_users")
    @classmethod
    def _user_counts(cls, counts: tuple[int, ...]) -> tuple[int, ...]:
        for count in counts:
            if not 1 <= count <= MAX_USERS:
                raise ValueError(f"each must be between 1 and {MAX_USERS}, not {count}")
        if len(set(counts)) < len(counts):
            raise ValueError(f"each number may appear only once, not {list(counts)}")
        return counts

    @field_validator("load")
    @classmethod
    def _users_at_the_top(cls, load: Load) -> Load:
        if load.virtual_users != Load.model_fields["virtual_users"].default:
            raise ValueError(
                f"in a sweep, virtual_users is next to load, not in it; write virtual_users: [{load.virtual_users}]"
            )
        return load

    @field_validator("special", "baseline")
    @classmethod
    def _of_this_sweep(cls, given: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if not {"settings", "factors", FILES} <= info.data.keys():
            return given
        known = {**info.data["settings"], **info.data["factors"], FILES: tuple(info.data[FILES])}
        for name, wanted in given.items():
            if name not in known:
                raise ValueError(
                    f"'{name}' is not a setting or factor of this sweep.{did_you_mean(name, list(known))}"
                )
            if (
                info.field_name == "baseline"
                and wanted not in known[name]
                and not any(isinstance(one, Formula) for one in known[name])
            ):
                raise ValueError(f"{name} = {wanted} is not one of its values {list(known[name])}")
        return given

    @model_validator(mode="after")
    def _tries_something(self) -> SweepSpec:
        if not self.grid:
            raise ValueError("give at least one setting or factor with the values to try")
        if secret := next(filter(_SECRET.search, self.tried), None):
            raise ValueError(f"'{secret}' is a secret, which the results would have; omit it")
        both = self.settings.keys() & self.factors.keys()
        if both:
            raise ValueError(f"'{min(both)}' is both a setting and a factor; remove one of them")
        for file, given in self.settings_file.items():
            if twice := self.settings.keys() & given.keys():
                raise ValueError(f"'{min(twice)}' is both in settings and in {file}; remove one of them")
        return self

    @property
    def grid(self) -> dict[str, tuple[str, ...]]:
        """The values of every setting and factor, in the order of a configuration."""
        files = {FILES: tuple(self.settings_file)} if self.settings_file else {}
        return {**self.settings, **self.factors, **files}

    @property
    def tried(self) -> dict[str, tuple[str, ...]]:
        """The values of every setting of the server, also of those in files."""
        names = dict.fromkeys(name for given in self.settings_file.values() for name in given)
        files = self.settings_file.values()
        values = {name: dict.fromkeys(given[name] for given in files if name in given) for name in names}
        return {**self.settings, **{name: tuple(of_it) for name, of_it in values.items()}}

    def settings_in(self, configuration: Mapping[str, str]) -> dict[str, str]:
        """The settings of the server in a configuration."""
        of_file = self.settings_file.get(configuration.get(FILES, ""), {})
        return {**{name: configuration[name] for name in self.settings}, **of_file}

    @property
    def missing_facts(self) -> frozenset[str]:
        """The facts that formulas and constraints use but that are not given."""
        names = [*map(names_of, self.grid.values()), *(one.names for one in self.constraints)]
        used = frozenset[str]().union(*names)
        return used - self.grid.keys() - self.facts.keys()

    @property
    def fact_values(self) -> dict[str, Value]:
        """The facts as values for expressions."""
        return {name: value_of(text) for name, text in self.facts.items()}

    def resolved(self, facts: Mapping[str, str] = MappingProxyType({})) -> SweepSpec:
        """The same sweep with all formulas evaluated; its own facts take precedence over ``facts`` of the host.

        Raises:
            InputError: a fact is missing.
            ConfigErrors: a formula cannot be evaluated with these facts.
        """
        used = {name: facts[name] for name in self.missing_facts if name in facts}
        whole = self.with_(facts={**self.facts, **used}) if used else self
        if whole.missing_facts:
            listed = ", ".join(f"{name}: ..." for name in sorted(whole.missing_facts))
            raise InputError(
                f"the sweep '{self.name}' needs unknown facts of the database's host; "
                f"add to its file: facts: {{{listed}}}"
            )
        if not any(isinstance(text, Formula) for values in self.grid.values() for text in values):
            return whole
        return whole._evaluated()

    def _evaluated(self) -> SweepSpec:
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
                found += text.values(self.fact_values) if isinstance(text, Formula) else [text]
            except ValueError as error:
                problems.append((at, str(error)))
                found.append(text)
        return tuple(dict.fromkeys(found))

    def errors(self, *problems: tuple[At, str]) -> ConfigErrors:
        """Errors that are found later, with the file and the lines that the sweep was read from."""
        return self._origin.errors(f"the sweep '{self.name}'", problems)

    def with_(self, **changes: Any) -> SweepSpec:
        """The same sweep with some fields changed. Raises ``ConfigErrors`` if the result is invalid."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        made = type(self)(**{**fields, **changes})
        made._origin = self._origin
        return made

    @classmethod
    def read(cls, path: Path | str, **changes: Any) -> SweepSpec:
        """Read a sweep from a YAML file, from the plan of an earlier sweep, or from hammerpost's ``{setting:
        [values]}``.

        ``changes`` other than None replace top-level keys, such as options of the command line.
        """
        path = Path(path)
        content, lines = read_yaml(path)
        if isinstance(content, dict) and isinstance(content.get("spec"), dict) and "experiment_id" in content:
            content, lines = (content["spec"], {at[1:]: line for at, line in lines.items() if at[:1] == ("spec",)})
        if isinstance(content, dict) and "settings" not in content and is_hammerpost(content):
            lines = {("settings", *at): line for at, line in lines.items()}
            settings = {name: value if isinstance(value, list) else [value] for name, value in content.items()}
            content = {"name": path.stem if re.fullmatch(_NAME, path.stem) else "sweep", "settings": settings}
        given = {key: value for key, value in changes.items() if value is not None}
        if isinstance(content, dict):
            content = {**content, **given}
            if isinstance(files := content.get(FILES), list):
                content[FILES] = {str(one): settings_of_file(path.parent / str(one)) for one in files}
        spec = validate(content, cls, source=str(path), lines=lines)
        spec._origin = Origin(str(path), lines)
        return spec


def _special(values: object) -> tuple[str, ...]:
    """The special values of a setting; none if the values have an error, which is reported elsewhere."""
    try:
        return special_texts(values)
    except ValueError:
        return ()


def is_hammerpost(content: dict[Any, Any]) -> bool:
    """Whether a file has nothing but settings: lists of values, among them single values that are kept."""
    if SweepSpec.model_fields.keys() & content.keys() or any(isinstance(one, dict) for one in content.values()):
        return False
    return any(isinstance(one, list) for one in content.values())


def sweep_schema() -> dict[str, Any]:
    """The JSON schema of a sweep file, made from the fields of ``SweepSpec``."""
    made = SweepSpec.model_json_schema()
    made["properties"][FILES]["type"] = ["object", "array"]  # a list of files, which SweepSpec.read reads
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": "hdbkit sweep"}


def sweep_schema_text() -> str:
    """The content of ``params/sweep.schema.json``."""
    return json.dumps(sweep_schema(), indent=1) + "\n"
