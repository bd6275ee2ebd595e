"""The command that certifies a server, or verifies a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from hdbkit import api
from hdbkit.cli import show
from hdbkit.cli.exits import Exit
from hdbkit.cli.schema import AsJson
from hdbkit.errors import InputError
from hdbkit.text import without_controls


def add_to(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(epilog="Example: hdbkit certify lab --file db2.json")(certify)


def certify(
    target: Annotated[
        str | None, typer.Argument(help="URL without password, or name in params/targets.yaml; its database is empty")
    ] = None,
    file: Annotated[Path, typer.Option(help="the certificate that is written")] = Path("certificate.json"),
    verify: Annotated[Path | None, typer.Option(help="verify this certificate instead")] = None,
    as_json: AsJson = False,
) -> int:
    """Examine a server in every way, into one signed file to attach to an issue; or verify such a file.

    Doctor, the rules of engines, and each built-in workload at its smallest scale: build, checks, answers, a run, a
    fault. What it builds, it removes. The exit code is 1 if anything failed.
    """
    if (target is None) == (verify is None):
        raise InputError("give a target, or --verify with a certificate")
    if verify is not None:
        found = api.verify_certificate(verify)
    else:
        found = api.certify(str(target), file, progress=lambda name: show.notes.print(name, markup=False))
    if as_json:
        show.print_json(
            {**found.content.model_dump(mode="json"), "fingerprint": found.fingerprint, "passed": found.passed}
        )
        return Exit.DONE if found.passed else Exit.CHECK_FAILED
    about = found.content.server
    rows = [
        {"step": one.name, "state": one.state, "s": one.took_s, "why": one.error or _failed(one.rows)}
        for one in found.content.steps
    ]
    head = f"{about.version or about.title}, {found.content.made:%Y-%m-%d %H:%M} UTC"
    show.console.print(without_controls(head), markup=False)
    show.console.print(show.table(pd.DataFrame(rows)))
    show.console.print(f"{found.path}, signed by {found.fingerprint}", markup=False, soft_wrap=True)
    return Exit.DONE if found.passed else Exit.CHECK_FAILED


def _failed(rows: list[dict[str, object]]) -> str:
    return ", ".join(str(one.get("name", one.get("check", ""))) for one in rows if one.get("passed") is False)
