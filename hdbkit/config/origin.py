"""Where a value was read from, so that errors found later are still reported with file and line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hdbkit.config.files import Lines
from hdbkit.config.problems import location
from hdbkit.errors import ConfigErrors, Problem

At = tuple[str | int, ...]


@dataclass(frozen=True)
class Origin:
    """A file and its lines. All origins compare equal, so that equality depends only on the value."""

    source: str = field(default="", compare=False)
    lines: Lines = field(default_factory=dict, compare=False)

    def line(self, at: At) -> int | None:
        """The line of a value, or of the innermost enclosing one that has a line."""
        return next((self.lines[at[:n]] for n in range(len(at), -1, -1) if at[:n] in self.lines), None)

    def errors(self, otherwise: str, found: Sequence[tuple[At, str]]) -> ConfigErrors:
        """``found`` (location and message) as one error; ``otherwise`` is the source if there is no file."""
        problems = [Problem(location(at), what, self.line(at)) for at, what in found]
        return ConfigErrors(self.source or otherwise, problems)
