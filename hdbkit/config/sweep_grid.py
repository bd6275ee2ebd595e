"""The configurations of a sweep: all combinations of values that satisfy the constraints, the baseline first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hdbkit.config.expressions import ExpressionError, Value, value_of
from hdbkit.config.sweep_spec import SweepSpec
from hdbkit.errors import InputError

MAX_COMBINATIONS = 100_000

_Configuration = dict[str, str]


@dataclass
class _Grid:
    """The configurations of a sweep; ``dropped`` counts excluded combinations by the first violated constraint."""

    configurations: list[_Configuration] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)


def grid_from(spec: SweepSpec) -> _Grid:
    """The configurations of a resolved sweep; index 0 is the baseline.

    Raises:
        ConfigErrors: the baseline violates a constraint, or a constraint cannot be evaluated with these values.
        InputError: there are more than ``MAX_COMBINATIONS`` combinations.
    """
    size = math.prod(len(values) for values in spec.grid.values())
    if size > MAX_COMBINATIONS:
        counts = f"{len(spec.virtual_users)} counts of virtual users x {spec.blocks} blocks"
        raise InputError(
            f"the sweep '{spec.name}' would have {size * len(spec.virtual_users) * spec.blocks} runs ({size} "
            f"configurations x {counts}), more than the maximum of {MAX_COMBINATIONS} configurations; "
            "give fewer values"
        )
    rules, grid = [_Rule(spec, index) for index in range(len(spec.constraints))], _Grid()
    for configuration in _combinations(spec):
        broken = next((rule for rule in rules if not rule.holds(configuration)), None)
        if broken is None:
            grid.configurations.append(configuration)
        elif grid.configurations or grid.dropped:
            grid.dropped[broken.text] = grid.dropped.get(broken.text, 0) + 1
        else:
            raise spec.errors((broken.at, _baseline(configuration, broken.text)))
    problems = [(rule.at, rule.problem) for rule in rules if rule.problem]
    if problems:
        raise spec.errors(*problems)
    return grid


def _combinations(spec: SweepSpec) -> Iterator[_Configuration]:
    """All combinations; the baseline's value of each setting is first, so the first combination is the baseline."""
    columns = []
    for name, values in spec.grid.items():
        first = spec.baseline.get(name, values[0])
        columns.append([first, *(value for value in values if value != first)])
    for values in itertools.product(*columns):
        yield dict(zip(spec.grid, values, strict=True))


def _baseline(configuration: _Configuration, text: str) -> str:
    shown = ", ".join(f"{name}={value}" for name, value in configuration.items())
    return f"the baseline ({shown}) violates '{text}'; change its values under baseline"


class _Rule:
    """A constraint of a sweep; ``problem`` is its first evaluation error, after which it always holds."""

    def __init__(self, spec: SweepSpec, index: int) -> None:
        self._condition, self.at, self.problem = spec.constraints[index], ("constraints", index), ""
        self.text, self._special, self._facts = str(self._condition), spec.special, spec.fact_values

    def holds(self, configuration: Mapping[str, str]) -> bool:
        """Whether a configuration satisfies it. Special values of a setting always do."""
        used = {name: configuration[name] for name in self._condition.names if name in configuration}
        if self.problem or any(text in self._special.get(name, ()) for name, text in used.items()):
            return True
        names: dict[str, Value] = {**self._facts, **{name: value_of(text) for name, text in used.items()}}
        try:
            return self._condition.truth(names)
        except ExpressionError as error:
            shown = ", ".join(f"{name} = {text}" for name, text in used.items())
            self.problem = f"'{self.text}' {error} (at {shown})"
            return True
