"""How a browser signs in: a valid token becomes a cookie; after several wrong ones its address waits."""

from __future__ import annotations

from dataclasses import dataclass

from hdbkit.service.answers import Refused
from hdbkit.service.sessions import Sessions
from hdbkit.web.guard import Scope, client_of, header
from hdbkit.web.tokens import WrongTokens


@dataclass(frozen=True)
class SignIn:
    """The sessions of a service, and the wrong tokens that were sent to it."""

    sessions: Sessions
    wrong: WrongTokens

    def cookie(self, scope: Scope, token: str) -> str:
        """The header with the cookie for a token. Raises ``Refused``."""
        client = client_of(scope)
        given = self.sessions.sign_in(token)
        if given is not None:
            return given
        if wait_s := self.wrong.wait_s(client):
            raise Refused(429, f"too many wrong tokens came from {client}; wait {wait_s:.0f} s", wait_s)
        self.wrong.note(client)
        raise Refused(401, "the token is unknown or has expired")


def is_from_this_site(scope: Scope) -> bool:
    """Whether a browser sent the request for a page of this service, and of no other."""
    site, origin = header(scope, b"sec-fetch-site"), header(scope, b"origin")
    if site:
        return site == "same-origin"
    return origin.partition("://")[2] == header(scope, b"host") != ""
