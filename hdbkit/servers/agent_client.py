"""The HTTP client of an agent, over TLS with a pinned certificate.

The certificate is verified before anything is sent, so that a host with another certificate never receives the
token. An unreachable agent raises :class:`AgentAway`, and the caller retries; a rejected request raises an error for
the user.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import ssl
from types import TracebackType
from typing import Any

from hdbkit.config import ControlSpec
from hdbkit.config.control_spec import AGENT_PORT
from hdbkit.config.passwords import TOKEN_VARIABLE, find_token
from hdbkit.databases._base.listener import account_behind, account_name, trusted_accounts
from hdbkit.errors import CannotConnect, NoneFree, ServerDown, ServerFailed

AGENT_CAUSE = "cause"
"""The key of an answer with the innermost reason of an error."""
AGENT_SERVER_DOWN = "server_down"
"""The key of an answer that is true if the agent's server is down and could not be repaired."""
NONE_FREE = "none_free"
"""The key of an answer that is true if all connections of the agent's server are in use."""
_CONNECT_S = 10.0
_REFUSED = (401, 403, 429)
_REJECTED = "; if it was started with --client-ca, check client_certificate and client_key of the target"
"""An agent that rejects a client's certificate closes the connection without an answer."""


class AgentAway(Exception):
    """The agent cannot be reached; the message states why."""


class AgentClient:
    """Sends requests to the agent of a target, each on a new connection, or all on one with ``keep``."""

    def __init__(self, spec: ControlSpec, keep: bool = False) -> None:
        assert spec.agent is not None
        self.address, self._spec, self._keep = spec.agent, spec, keep
        self._connection: http.client.HTTPConnection | None = None
        self._token = find_token(spec.agent, spec.token_file)
        if not self._token:
            raise CannotConnect(spec.agent, "no token is given", f"set {TOKEN_VARIABLE}, or give a token_file")

    def get(self, verb: str, timeout_s: float = 20.0) -> Any:
        """The response to a GET request. Raises ``AgentAway``, ``ServerFailed`` and ``CannotConnect``."""
        return self._ask("GET", verb, None, timeout_s)

    def post(self, verb: str, content: Any = None, timeout_s: float = 600.0) -> Any:
        """The response to a POST request; raises the same errors as ``get``."""
        return self._ask("POST", verb, json.dumps({} if content is None else content), timeout_s)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def __enter__(self) -> AgentClient:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def _ask(self, method: str, verb: str, body: str | None, timeout_s: float) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        try:
            connection = self._connected()
            connection.sock.settimeout(timeout_s)
            connection.request(method, f"/{verb}", body, headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            advice = _REJECTED if isinstance(error, ssl.SSLError | http.client.RemoteDisconnected) else ""
            raise AgentAway((str(error) or type(error).__name__) + advice) from None
        if not self._keep:
            self.close()
        return self._understood(answer.status, content)

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None or self._connection.sock is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._spec.agent_address
        if self.address.startswith("http:"):
            plain = http.client.HTTPConnection(host, port, timeout=_CONNECT_S)
            plain.connect()
            self._check_account(plain)
            return plain
        connection = http.client.HTTPSConnection(host, port, timeout=_CONNECT_S, context=self._tls())
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            advice = "give the fingerprint that the agent printed when it started"
            raise CannotConnect(
                self.address, f"its certificate is not trusted ({error.verify_message})", advice
            ) from None
        self._check_certificate(connection)
        return connection

    def _tls(self) -> ssl.SSLContext:
        """The TLS context: trusts the pinned certificate, or the system's certificate authorities without a pin."""
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self._spec.client_certificate and self._spec.client_key:
            try:
                context.load_cert_chain(self._spec.client_certificate, self._spec.client_key, password="")
            except (OSError, ValueError) as error:
                raise CannotConnect(
                    self.address, f"client_certificate cannot be used: {error}", "give PEM files without passphrase"
                ) from None
        if self._spec.fingerprint:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def _check_account(self, connection: http.client.HTTPConnection) -> None:
        """Without TLS, which is for this host alone, any of its accounts could listen there and get the token."""
        stated = self._spec.agent_account
        account = account_behind(connection.sock)
        if account is not None and account not in trusted_accounts(stated, ()):
            connection.close()
            name = account_name(account)
            advice = (
                f"find out who listens; if it is the agent, set 'agent_account: {name}' in the target's 'control'"
            )
            raise CannotConnect(self.address, f"the account {name} listens there, which gets no token", advice)

    def _check_certificate(self, connection: http.client.HTTPSConnection) -> None:
        assert isinstance(connection.sock, ssl.SSLSocket)
        shown = hashlib.sha256(connection.sock.getpeercert(binary_form=True) or b"").hexdigest()
        pinned = self._spec.fingerprint
        if pinned and not hmac.compare_digest(shown, pinned):
            connection.close()
            advice = "if its certificate was renewed, give the new fingerprint; nothing was sent to it"
            raise CannotConnect(self.address, f"its certificate has the fingerprint {shown}, not {pinned}", advice)

    def _understood(self, status: int, content: bytes) -> Any:
        try:
            answer = json.loads(content)
        except ValueError:
            answer = None
        reason = answer.get("error", "") if isinstance(answer, dict) else ""
        if status in _REFUSED:
            advice = f"set {TOKEN_VARIABLE} to the token that the agent was started with"
            raise CannotConnect(self.address, "it rejects the token", advice)
        if status >= 500 or answer is None:
            self.close()
            raise ServerFailed(
                f"the agent {self.address} failed (status {status}); its log on {self._host} contains the reason"
            )
        if status >= 400:
            kind = ServerDown if answer.get(AGENT_SERVER_DOWN) else ServerFailed
            cause = str(answer.get(AGENT_CAUSE) or reason)
            none_free = NoneFree(self.address, cause, "use fewer connections") if answer.get(NONE_FREE) else None
            raise kind(reason or f"the agent {self.address} rejected the request with status {status}") from (
                none_free or ServerFailed(cause)
            )
        return answer

    @property
    def _host(self) -> str:
        return self._spec.agent_address[0] or f"port {AGENT_PORT}"
