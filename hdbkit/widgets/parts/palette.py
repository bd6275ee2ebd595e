"""The palette of the charts as CSS variables, in the colours of the page's theme."""

from __future__ import annotations

from hdbkit.charts.style import COLOURS


def palette_css(selector: str) -> str:
    """``--hdbkit-<name>`` for each colour below ``selector``: for a light page, and for a dark JupyterLab."""
    light, dark = (
        "".join(f"--hdbkit-{name}: {getattr(colour, ground)};" for name, colour in COLOURS.items())
        for ground in ("light", "dark")
    )
    return f'{selector} {{{light}}}\n[data-jp-theme-light="false"] {selector} {{{dark}}}\n'
