"""Sessions of browsers: a token that was typed once becomes a cookie, which reads pages and sends their forms;
after several wrong ones an address waits.

A session is bound to its token: it ends when the token is removed or expires, after ``LIFE_S``, or when its user
signs out. The service keeps the hash of a cookie, in memory. The API never accepts a cookie.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie

from hdbkit.service.answers import Refused
from hdbkit.service.tokens import Holder, Tokens
from hdbkit.web.guard import ConnectionScope, WrongTokens, client_of, hash_of, header, new_token

SIGN_IN = "/sign-in"
"""The path of the page that asks for a token."""
SESSION = "session"
"""The key in a request's state with the session of its browser."""
LIFE_S = 12 * 3600.0
_MAX_SESSIONS = 1000


@dataclass(frozen=True)
class BrowserSession:
    """A signed-in browser; ``form_token`` must be in each form that it sends."""

    token_hash: str
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    began: float = field(default_factory=time.monotonic)

    def has_sent(self, form_token: str) -> bool:
        """Whether a form was made for this session."""
        return hmac.compare_digest(form_token.encode(errors="replace"), self.form_token.encode())


class BrowserSessions:
    """The sessions of a service; ``secure``: whether it is reached by TLS only."""

    def __init__(self, tokens: Tokens, secure: bool) -> None:
        self._tokens, self._secure, self.wrong = tokens, secure, WrongTokens()
        self._name = "__Host-hdbkit" if secure else "hdbkit"
        self._by_hash: OrderedDict[bytes, BrowserSession] = OrderedDict()  # the oldest first

    def cookie_for(self, scope: ConnectionScope, token: str) -> str:
        """The header with the cookie for a token that a request sent. Raises ``Refused``."""
        given = self.sign_in(token)
        if given is not None:
            return given
        client = client_of(scope)
        if wait_s := self.wrong.wait_s(client):
            raise Refused(429, f"too many wrong tokens came from {client}; wait {wait_s:.0f} s", wait_s)
        self.wrong.note(client)
        raise Refused(401, "the token is unknown or has expired")

    def sign_in(self, token: str) -> str | None:
        """The header that gives the browser its cookie; None if the token is not valid."""
        holder = self._tokens.holder(token)
        if holder is None:
            return None
        cookie = new_token()
        self._by_hash[hash_of(cookie)] = BrowserSession(holder.hash)
        while len(self._by_hash) > _MAX_SESSIONS:
            self._by_hash.popitem(last=False)
        return self._header(cookie)

    def sign_out(self, scope: ConnectionScope) -> str:
        """End the session of a request; the header that removes its cookie."""
        self._by_hash.pop(hash_of(self._cookie(scope)), None)
        return self._header("") + "; Max-Age=0"

    def of(self, scope: ConnectionScope) -> tuple[BrowserSession, Holder] | None:
        """The session of a request and the holder of its token; None if it has none, or it has ended."""
        key = hash_of(self._cookie(scope))
        session = self._by_hash.get(key)
        if session is None:
            return None
        holder = self._tokens.of_hash(session.token_hash)
        if holder is None or time.monotonic() - session.began > LIFE_S:
            del self._by_hash[key]
            return None
        return session, holder

    def _header(self, cookie: str) -> str:
        secure = "; Secure" if self._secure else ""
        return f"{self._name}={cookie}; Path=/; HttpOnly; SameSite=Strict{secure}"

    def _cookie(self, scope: ConnectionScope) -> str:
        try:
            found = SimpleCookie(header(scope, b"cookie")).get(self._name)
        except CookieError:
            return ""
        return found.value if found else ""


def is_from_this_site(scope: ConnectionScope) -> bool:
    """Whether a browser sent the request for a page of this service, and of no other."""
    site, origin = header(scope, b"sec-fetch-site"), header(scope, b"origin")
    if site:
        return site == "same-origin"
    return origin.partition("://")[2] == header(scope, b"host") != ""
