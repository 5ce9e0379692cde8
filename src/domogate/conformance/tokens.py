"""The rules of the token endpoint (Spec 5): refreshing a token."""

from typing import NamedTuple
from urllib.parse import urlencode

from domogate.conformance.exchange import Client, Credentials, Exchange
from domogate.conformance.operations import E3
from domogate.conformance.rules import Rule
from domogate.conformance.session import Session

REFRESH_REFUSED = Rule("5.token.400", "When the value sent as refresh_token is not a valid refresh token, the response is 400.")
REFRESH = Rule("5.token.200", "A token response is JSON holding a new access_token and a refresh_token.")

_FORM = "application/x-www-form-urlencoded"
_NOBODY = Credentials("", "")
_SHOWN = b"grant_type=refresh_token&client_id=$CLIENT_ID&client_secret=$CLIENT_SECRET&refresh_token=$REFRESH_TOKEN"


class TokenEndpoint(NamedTuple):
    """The token endpoint, and an application that is registered there. `refresh_token` is empty if none was given."""

    client: Client
    client_id: str
    client_secret: str
    refresh_token: str = ""


def check_tokens(session: Session, endpoint: TokenEndpoint | None, *, write: bool) -> str:
    """Check the refresh of a token. Return the new refresh token, or an empty text if no token was refreshed."""
    if endpoint is None:
        session.skip(REFRESH_REFUSED, "token", "no application was given (--auth-url, --client-id, --client-secret)")
        session.skip(REFRESH, "token", "no application was given (--auth-url, --client-id, --client-secret)")
        return ""
    for about, value in (("an access token", session.credentials_for(E3).token), ("an invented text", "not-a-refresh-token")):
        exchange = _refresh(session, endpoint, value)
        detail = f"for {about} the status is {exchange.status}"
        session.check(REFRESH_REFUSED, "token", exchange, exchange.status == 400, detail)
    if not endpoint.refresh_token or not write:
        session.skip(REFRESH, "token", "a refresh replaces the refresh token: it needs --refresh-token and --write")
        return ""
    exchange = _refresh(session, endpoint, endpoint.refresh_token)
    body = session.read(exchange)
    right = isinstance(body, dict) and all(isinstance(body.get(name), str) for name in ("access_token", "refresh_token"))
    hidden = exchange._replace(answer=b"(not shown, because it may contain tokens)")
    session.check(REFRESH, "token", hidden, right, f"the status is {exchange.status}, or a token is missing")
    return str(body["refresh_token"]) if right else ""


def _refresh(session: Session, endpoint: TokenEndpoint, refresh_token: str) -> Exchange:
    form = {
        "grant_type": "refresh_token",
        "client_id": endpoint.client_id,
        "client_secret": endpoint.client_secret,
        "refresh_token": refresh_token,
    }
    body = urlencode(form).encode()
    return session.send("token", "POST", "token", _NOBODY, body, _FORM, client=endpoint.client, shown=_SHOWN)
