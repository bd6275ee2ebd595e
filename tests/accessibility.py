"""axe-core on a page: what it calls serious or critical."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe

FITS = """async page => {
    for (let waited = 0; page.scrollWidth > innerWidth && waited < 200; waited++)  // charts follow a new width later
        await new Promise(done => setTimeout(done, 100))
    if (page.scrollWidth > innerWidth) throw new Error("the page scrolls sideways")
}"""


def serious(page: Any, within: str = "html") -> list[str]:
    """The serious violations below the elements of a selector: the rule and where, each a line."""
    found = Axe().run(page, context=within, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['id']}: {node['target']}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
