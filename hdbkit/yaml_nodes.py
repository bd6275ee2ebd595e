"""The nodes of a YAML text, with a limit of depth: the scanner's time grows with the square of the depth."""

from __future__ import annotations

from functools import cache
from typing import Any

from hdbkit.later import yaml

MAX_NESTING = 40


def compose(text: str) -> yaml.Node | None:
    """The nodes of a YAML text. Raises ``yaml.YAMLError``, and ``ValueError`` where they are nested too deeply."""
    return yaml.compose(text, Loader=_loader())


@cache
def _loader() -> type[yaml.SafeLoader]:
    """What stops at the limit while it reads."""

    class Loader(yaml.SafeLoader):
        _depth = 0

        def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
            """A node and those in it."""
            if self._depth > MAX_NESTING:
                raise ValueError(f"it is nested more than {MAX_NESTING} deep")
            self._depth += 1
            node: yaml.Node | None = super().compose_node(parent, index)
            self._depth -= 1
            return node

    return Loader
