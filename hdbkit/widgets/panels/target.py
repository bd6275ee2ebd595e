"""The target panel: choose a database and an account, test the connection, or start a private server."""

from __future__ import annotations

import html
import uuid
from collections.abc import Callable
from typing import Any, ClassVar

import anywidget
import ipywidgets
import traitlets
from pydantic import SecretStr

from hdbkit import api
from hdbkit.config import ControlSpec, Target, target_names
from hdbkit.config.passwords import keyring_trouble
from hdbkit.errors import InputError, SchemaProblem
from hdbkit.text import many
from hdbkit.widgets.parts.base import STATIC, Panel, Shared, State, call_code, first_lines, target_code
from hdbkit.widgets.parts.layout import LABELS, button, grid, row
from hdbkit.widgets.parts.workload_choice import chosen, schema_text
from hdbkit.workloads import workload

SERVER_FIELDS: dict[str, Any] = {
    "server_folder": None,
    "password_file": None,
    "may_change_settings": False,
    "may_restart": False,
    "control": ControlSpec(),
}
"""The fields that belong to a target's server, with their values for another server: permissions are not kept."""
_SERVER = {"kind", "host", "port"}
_END = "it stops when this kernel, and the runs and sweeps in progress on it, have ended"
"""The fields that identify a server."""


class TargetPanel(Panel):
    """Choose the database to measure: a name, a URL, or the fields of its address; or start a private server."""

    title: ClassVar[str] = "Target"

    def __init__(self, shared: Shared | None = None) -> None:
        super().__init__(shared)
        self._kinds = api.list_databases().set_index("kind")
        self._base: Target | None = None
        self._filling = False
        self._make_fields()
        self._make_buttons()
        self.body.children = [
            self.given,
            grid(self.kind, self.host, self.port, self.database, self.user, self.password),
            self.password_source,
            row(self.test, self.examine, self.start_private, self.end_private),
            self.findings,
        ]
        self._listen()
        self._show_target()
        self._show_buttons()

    def _make_fields(self) -> None:
        def text(name: str, hint: str) -> ipywidgets.Text:
            return ipywidgets.Text(description=name, placeholder=hint, continuous_update=False, style=LABELS)

        self.given = ipywidgets.Combobox(
            description="Name or URL",
            placeholder="a name in the targets file, or kind://user@host:port/database",
            options=tuple(target_names(self.workspace.targets)),
            continuous_update=False,
            style=LABELS,
            layout=ipywidgets.Layout(width="100%", max_width="720px"),
        )
        titles = list(zip(self._kinds["title"], self._kinds.index, strict=True))
        startable = self._kinds.index[self._kinds["private"]]
        self.kind = ipywidgets.Dropdown(
            description="Kind", options=titles, value=startable[0] if len(startable) else titles[0][1], style=LABELS
        )
        self.host = text("Host", "name, address, or folder of a socket")
        self.port = text("Port", "the default port")
        self.database = text("Database", "name of the database")
        self.user = text("User", "account")
        self.password = PasswordField()
        self.password_source = ipywidgets.HTML().add_class("hdbkit-note")
        self.findings = ipywidgets.HTML()

    def _make_buttons(self) -> None:
        self.test = button(
            "Test connection", self.guarded(self._test), style="primary", hint="connect once, read the version"
        )
        self.examine = button("Examine", self.guarded(self._examine), hint="read what would disturb a run")
        self.start_private = button(
            "Start a private server", self.guarded(self._start_private), hint=f"a server that hdbkit starts; {_END}"
        )
        self.end_private = button(
            "Stop and remove its data", self.guarded(self._end_private), hint=f"otherwise {_END}"
        )

    def _listen(self) -> None:
        self.given.observe(self.guarded(self._named), "value")
        for field in (self.kind, self.host, self.port, self.database, self.user):
            field.observe(self.guarded(self._changed), "value")
        self.password.on_change(self.guarded(self._changed))
        self.shared.observe(self.guarded(self._show_target), "target")

    # -- from fields to a target and back -----------------------------------------------------------------

    def _named(self) -> None:
        text = self.given.value.strip()
        if self._filling or not text:
            return
        try:
            target = self.workspace.target(text)
        except InputError:
            if ":" in text or "@" in text:  # it may hold a password, and a notebook keeps what a field shows
                self._put_back()
            self.show_call("")  # no code of another target
            raise
        self.shared.target = self._with_password(target)

    def _put_back(self) -> None:
        """Restore the value that the field of names and URLs had before the last input."""
        self._filling = True
        try:
            self.given.value = self._base.given if self._base else ""
        finally:
            self._filling = False

    def _changed(self) -> None:
        if not self._filling:
            self.shared.target = self._composed()

    def _composed(self) -> Target:
        """The target of the fields; what they do not show is kept while the server is the same."""
        address = {
            "kind": self.kind.value,
            "host": self.host.value.strip() or None,
            "port": _port(self.port.value.strip()),
            "database": self.database.value.strip() or None,
            "user": self.user.value.strip() or None,
        }
        base = self._base or Target(kind=self.kind.value)
        changed = {name: value for name, value in address.items() if getattr(base, name) != value}
        if changed.keys() & _SERVER:
            changed |= SERVER_FIELDS
        if "kind" in changed:
            changed["options"] = {}
        return self._with_password(base.with_(**changed))

    def _with_password(self, target: Target) -> Target:
        """``target`` with the password that was typed; none where it was typed for another server."""
        base = self._base
        typed_for_another = (
            base is not None
            and base.host is not None
            and any(getattr(base, one) != getattr(target, one) for one in _SERVER)
        )
        return target.with_(password=None if typed_for_another else self.password.get())

    def _show_target(self) -> None:
        """Fill the fields from the shared target."""
        target = self.shared.target
        self.shared.schema = None
        self.findings.value = ""
        self.say("")
        if target is not None:
            self._fill(target)
            self._show_password_source(target)
        self._show_buttons()
        connect = call_code(self.workspace, "connect", target_code(target, self.workspace))
        self.show_call(f"{first_lines(self.workspace)}connection = {connect}")

    def _fill(self, target: Target) -> None:
        self._base, self._filling = target, True
        try:
            self.kind.value = target.kind
            self.host.value = target.host or ""
            self.port.value = str(target.port or "")
            self.database.value = target.database or ""
            self.user.value = target.user or ""
            self.given.value = target.given if target.name or target.host or target.database else ""
            if target.password != self.password.get():
                self.password.keep(target.password)
        finally:
            self._filling = False

    def _show_password_source(self, target: Target) -> None:
        def look() -> None:
            source = self.workspace.password_source(target) or _nowhere(target)
            if target is self.shared.target:
                self.password_source.value = f"Password: {html.escape(source)}"

        self.in_background(look)

    # -- what the buttons do ------------------------------------------------------------------------------

    def _shown(self) -> Target:
        """The target. Raises ``InputError`` if the field of names and URLs shows another, which does not exist."""
        if self.given.value.strip() != (self._base.given if self._base else ""):
            self._named()
        return self._required()

    def _test(self) -> None:
        target = self._shown()
        self.busy_with(f"connecting to {target.url} ...", lambda: self._connect(target))

    def _connect(self, target: Target) -> None:
        connection = self.workspace.connect(target)
        self.say(f"connected to {connection.version}; {self._schema_there(connection)}.", State.DONE)

    def _examine(self) -> None:
        target = self._shown()
        self.findings.value = ""
        self.busy_with(f"examining {target.url} ...", lambda: self._examined(target))

    def _examined(self, target: Target) -> None:
        found = self.workspace.doctor(target, workload=chosen(self.shared))
        self.findings.value = found.to_html(index=False, border=0, classes="hdbkit-findings")  # escaped
        bad = found[found["state"] != "ok"]
        self.say(f"{many(len(bad), 'finding')} to look at, {len(found) - len(bad)} in order")

    def _schema_there(self, connection: api.Connection) -> str:
        """The chosen workload's schema in the database, in words; the other panels get it too."""
        try:
            spec = connection.schema(chosen(self.shared))
        except SchemaProblem as problem:
            return str(problem)
        self.shared.schema_found(connection.target, spec)
        wanted = workload(chosen(self.shared)).title
        return f"it holds {schema_text(spec)}" if spec else f"it holds no schema of {wanted}"

    def _start_private(self) -> None:
        kind = self._kind_to_start()
        self.start_private.disabled = True
        self.busy_with(f"starting a private {self._kinds['title'][kind]} server ...", lambda: self._started(kind))

    def _started(self, kind: str) -> None:
        try:
            target = self.workspace.private(kind)
            self.shared.target = target
            self._connect(target)
        finally:
            self._show_buttons()

    def _end_private(self) -> None:
        kind = self._kind_to_start()
        self.end_private.disabled = True
        self.busy_with("stopping the private server ...", lambda: self._ended(kind))

    def _ended(self, kind: str) -> None:
        try:
            folders = [one.server_folder for one in self.workspace.private_targets() if one.kind == kind]
            self.workspace.end_private(kind)
            target = self.shared.target
            if target is not None and target.server_folder in folders:
                self._fill(Target(kind=kind))
                self.given.value = self.password_source.value = ""
                self.shared.target = None
            self.say("the private server is stopped and its data is removed")
        finally:
            self._show_buttons()

    def _show_buttons(self) -> None:
        """Which server can be started, and whether one is running."""
        kind = self._kind_to_start()
        running = {target.kind for target in self.workspace.private_targets()}
        self.start_private.description = f"Start a private {self._kinds['title'][kind]}"
        self.start_private.disabled = False
        self.end_private.disabled = False
        self.end_private.layout.display = "" if kind in running else "none"
        if kind in running:
            self.start_private.description = f"Use the private {self._kinds['title'][kind]}"

    def _kind_to_start(self) -> str:
        startable = self._kinds.index[self._kinds["private"]]
        if not len(startable):
            raise InputError("hdbkit cannot start a server on this machine; see: hdbkit doctor")
        return str(self.kind.value if self.kind.value in startable else startable[0])

    def _required(self) -> Target:
        if self.shared.target is None:
            self.shared.target = self._composed()
        return self.shared.target


def _nowhere(target: Target) -> str:
    """Where no password was found, and what can be done."""
    trouble = keyring_trouble(target.with_(options={}).url)
    keyring = f"the keyring (not available: {trouble})" if trouble else "the keyring"
    return f"not found in HDBKIT_PASSWORD, {keyring} or the driver's own places; type it here if the server asks"


def _port(text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal():
        raise InputError(f"the port must be a number, not {text!r}")
    return int(text)


NONE_KEPT = "never saved"
_KEPT = "kept in memory"


class PasswordField(anywidget.AnyWidget):
    """A field for a password, which is never part of a notebook. ``get()`` gives what was typed.

    ``ipywidgets.Password`` keeps its value in the state that JupyterLab, nbclient and papermill save. This field has
    no trait for it: the browser sends what was typed as a message, the kernel keeps it in memory, and the field
    clears itself and shows that a password is kept.
    """

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
        self.hint = _KEPT if self.kept else NONE_KEPT
        for action in self._actions:
            action()

    def on_change(self, action: Callable[[], None]) -> None:
        """Call ``action`` whenever the password changes."""
        self._actions.append(action)

    def _on_message(self, _: Any, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and isinstance(content.get("password"), str):
            self.keep(SecretStr(content["password"]) if content["password"] else None)
