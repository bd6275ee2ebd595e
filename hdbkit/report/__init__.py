"""Self-contained HTML pages for runs, sweeps, comparisons, profiles and searches, and cards for a notebook."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

_WITHIN_A_NAME = re.compile(r"(?<=\w{8})(_)(?=\w{2})")


@cache
def templates() -> Environment:
    """The templates of this package; every value is escaped."""
    made = Environment(
        loader=PackageLoader("hdbkit.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["breakable"] = _breakable
    return made


def _breakable(text: str) -> Markup:
    """A cell's text that may wrap within a long name, as of a setting and its value."""
    return Markup(_WITHIN_A_NAME.sub(r"\1<wbr>", str(escape(text))))  # noqa: S704 (escaped)
