"""Redirects the browser, and compares redirect URIs with those that a client registered."""

import re
from collections.abc import Mapping
from enum import StrEnum
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from domogate.domain.people import Client

_LOOPBACK = re.compile(r"(http://(?:127\.0\.0\.1|\[::1\])):([1-9][0-9]{0,4})([/?].*|)", re.ASCII).fullmatch
_MAX_PORT = 65_535

_REDIRECT_HEADERS = {"cache-control": "no-store", "pragma": "no-cache", "referrer-policy": "no-referrer"}


class ResponseMode(StrEnum):
    """The part of the redirect URI that holds the response (OAuth 2.0 Multiple Response Type Encoding Practices §2.1)."""

    QUERY = "query"
    FRAGMENT = "fragment"


def matches(requested: str, registered: str, *, any_port: bool) -> bool:
    """Whether the two redirect URIs are the same text (RFC 9700 §2.1).

    If `any_port` is true, a loopback address that is registered without a port matches every port: a native application learns
    its port only when it starts (RFC 8252 §7.3).
    """
    if requested == registered:
        return True
    loopback = _LOOPBACK(requested) if any_port else None
    return loopback is not None and int(loopback[2]) <= _MAX_PORT and loopback[1] + loopback[3] == registered


def explain_mismatch(requested: str, client: Client) -> str:
    """Explain to the developer of the application why the redirect URI is refused."""
    shown = requested if requested.isprintable() else ascii(requested)
    if "#" in requested:
        return f"The redirect_uri {shown} has a fragment (#…); a redirect URI must not have one (RFC 6749 §3.1.2)."
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
    """Redirect to the application.

    With the status 303, the browser does not post the form of our page to the application (RFC 9700 §4.12).
    """
    sign = "#" if mode is ResponseMode.FRAGMENT else "&" if "?" in redirect_uri else "?"
    # urlencode escapes line breaks, so a parameter cannot add a header.
    return RedirectResponse(f"{redirect_uri}{sign}{urlencode(parameters)}", 303, _REDIRECT_HEADERS)


def see_other(url: str) -> Response:
    """Redirect to this URL with GET. The browser does not send the form again when the person goes back."""
    return RedirectResponse(url, 303, _REDIRECT_HEADERS)
