"""The Python code that a panel shows: calls in its workspace, which is named only if it is not the default one."""

from __future__ import annotations

from hdbkit.api import DEFAULT, Workspace
from hdbkit.config import Target


def first_lines(workspace: Workspace) -> str:
    """The lines before the calls: the import, and the workspace that the calls name."""
    return "import hdbkit\n\n" + ("" if workspace is DEFAULT else f"workspace = hdbkit.{workspace!r}\n")


def call_code(workspace: Workspace, verb: str, *arguments: str) -> str:
    """A call of a verb of a workspace; empty arguments are omitted."""
    owner = "hdbkit" if workspace is DEFAULT else "workspace"
    return f"{owner}.{verb}({', '.join(filter(None, arguments))})"


def target_code(target: Target | None, workspace: Workspace) -> str:
    """The expression for a target, without its password."""
    if target is None:
        return '"kind://user@host:port/database"'
    if target.server_folder is None:
        return f'"{target.given}"'
    if any(target.server_folder == one.server_folder for one in workspace.private_targets()):
        return call_code(workspace, "private", f'"{target.kind}"')
    return f'"{target.server_folder}"'


def panel_code(panel: str, workspace: Workspace) -> str:
    """The expression for a new panel of this class in a workspace; complete, since a notebook may keep it alone."""
    shared = "" if workspace is DEFAULT else f"hdbkit.widgets.Shared(workspace=hdbkit.{workspace!r})"
    return f"hdbkit.widgets.{panel}({shared})"
