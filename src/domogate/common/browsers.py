"""Distinguishes browsers from other clients."""

from typing import Any


def asks_for_html(scope: Any) -> bool:
    """Whether an ASGI request wants a page: a GET whose header Accept names HTML and not JSON, as browsers send it."""
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept").lower()
    return scope["method"] == "GET" and b"text/html" in accepted and b"json" not in accepted
