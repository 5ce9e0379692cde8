"""Where a browser is sent back to: the redirect URIs a client registered, to the letter."""

import re
from collections.abc import Mapping
from enum import StrEnum
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from domogate.domain.people import Client

_LOOPBACK = re.compile(r"(http://(?:127\.0\.0\.1|\[::1\])):([1-9][0-9]{0,4})([/?].*|)", re.ASCII).fullmatch
_MAX_PORT = 65_535

_GO = {"cache-control": "no-store", "pragma": "no-cache", "referrer-policy": "no-referrer"}


class ResponseMode(StrEnum):
    """How a response travels in the redirect URI (OAuth 2.0 Multiple Response Type Encoding Practices §2.1)."""

    QUERY = "query"
    FRAGMENT = "fragment"


def matches(requested: str, registered: str, *, any_port: bool) -> bool:
    """The same text (RFC 9700 §2.1). With `any_port`, what is registered at a loopback address without a port has any:
    a native application learns its port only when it starts (RFC 8252 §7.3)."""
    if requested == registered:
        return True
    loopback = _LOOPBACK(requested) if any_port else None
    return loopback is not None and int(loopback[2]) <= _MAX_PORT and loopback[1] + loopback[3] == registered


def explain_mismatch(requested: str, client: Client) -> str:
    """What exactly is wrong, for whoever wrote the application."""
    shown = requested if requested.isprintable() else ascii(requested)
    if "#" in requested:
        return f"The redirect_uri {shown} has a fragment (#…); a redirect URI must have none (RFC 6749 §3.1.2)."
    nearest = next((it for it in client.redirect_uris if _same_but_for_port(requested, it)), None)
    if nearest is not None:
        return f"The redirect_uri {shown} is not registered for {client.name}: {nearest} is, with another port."
    nearest = next((it for it in client.redirect_uris if requested.startswith(it)), None)
    if nearest is not None:
        extra = ascii(requested[len(nearest) :])
        return f"The redirect_uri {shown} is not registered for {client.name}: {nearest} is, without {extra} at its end."
    return f"The redirect_uri {shown} is not registered for {client.name}."


def _same_but_for_port(one: str, other: str) -> bool:
    def without_port(uri: str) -> str:
        return re.sub(r"^([a-z][a-z0-9+.-]*://[^/?#]*?):[0-9]+(?=[/?#]|$)", r"\1", uri, flags=re.IGNORECASE)

    return without_port(one) == without_port(other)


def send_back(redirect_uri: str, mode: ResponseMode, parameters: Mapping[str, str]) -> Response:
    """Back to the application. 303: what was posted here is never posted there (RFC 9700 §4.12)."""
    sign = "#" if mode is ResponseMode.FRAGMENT else "&" if "?" in redirect_uri else "?"
    # urlencode leaves no line end, so that no parameter can begin a header of its own.
    return RedirectResponse(f"{redirect_uri}{sign}{urlencode(parameters)}", 303, _GO)


def see_other(url: str) -> Response:
    return RedirectResponse(url, 303, _GO)
