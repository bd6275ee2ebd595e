"""A password field whose content is never part of a notebook.

``ipywidgets.Password`` keeps its value in the state that JupyterLab, nbclient and papermill save. This field has no
trait for it: the browser sends what was typed as a custom message, the kernel keeps it in memory as a ``SecretStr``;
the field then clears itself and shows that a password is kept.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import anywidget
import traitlets
from pydantic import SecretStr

from hdbkit.widgets.parts.base import STATIC

NONE_KEPT = "never saved"
KEPT = "kept in memory"


class PasswordField(anywidget.AnyWidget):
    """A field for a password. ``get()`` gives what was typed; traits and state hold none of it."""

    _esm = STATIC / "password.js"
    description = traitlets.Unicode("Password").tag(sync=True)
    hint = traitlets.Unicode(NONE_KEPT).tag(sync=True)
    """What the empty field shows."""
    kept = traitlets.Bool(False).tag(sync=True)
    """Whether a password is in memory."""
    field_id = traitlets.Unicode().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(field_id=uuid.uuid4().hex[:8], **traits)
        self._password: SecretStr | None = None
        self._actions: list[Callable[[], None]] = []
        self.on_msg(self._on_message)

    def get(self) -> SecretStr | None:
        """The password in memory, None when there is none."""
        return self._password

    def keep(self, password: SecretStr | None) -> None:
        """Keep a password in memory, as if it were typed; None forgets it."""
        self._password = password
        self.kept = password is not None
        self.hint = KEPT if self.kept else NONE_KEPT
        for action in self._actions:
            action()

    def on_change(self, action: Callable[[], None]) -> None:
        """Call ``action`` whenever the password changes."""
        self._actions.append(action)

    def _on_message(self, _: Any, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and isinstance(content.get("password"), str):
            self.keep(SecretStr(content["password"]) if content["password"] else None)
