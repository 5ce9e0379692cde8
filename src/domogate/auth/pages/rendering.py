"""Templates become answers: each compiled once, escaped always, under a policy that lets nothing run."""

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import jinja2
from starlette.requests import Request
from starlette.responses import Response

from domogate.auth.pages.language import Language

STYLE_PATH = "/auth/pages/style.css"
_CSP = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action {targets}; frame-ancestors 'none'; base-uri 'none'"
)
_PAGE_HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-robots-tag": "noindex",
}
_STYLE_HEADERS = {
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*", re.ASCII).fullmatch
_HOST = re.compile(r"[a-z0-9.-]+(:[0-9]+)?", re.ASCII).fullmatch
# Set by what stands around all surfaces; quoted on error pages so that an operator finds the request in the log.
_REQUEST_ID = "domogate.request_id"
_FOLDER = files("domogate.auth.pages")


@cache
def compile_templates() -> dict[str, jinja2.Template]:
    """By file name. They are the same for everybody, so that a process compiles them once."""
    sources = {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in (_FOLDER / "templates").iterdir()
        if entry.name.endswith(".html")
    }
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(sources),
        autoescape=True,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return {name: environment.get_template(name) for name in sources}


class Renderer:
    """All templates, and the style sheet."""

    def __init__(self) -> None:
        # At the start, not when somebody asks: compiling one would hold up everybody else.
        self._templates = compile_templates()
        self._style = (_FOLDER / "style.css").read_bytes()
        self._style_url = f"{STYLE_PATH}?v={hashlib.sha256(self._style).hexdigest()[:12]}"

    def page(
        self,
        request: Request,
        template: str,
        language: Language,
        *,
        status: int = 200,
        form_targets: tuple[str, ...] = (),
        headers: dict[str, str] | None = None,
        **values: Any,
    ) -> Response:
        """`form_targets`: where a form may end up beside here (see `form_target`)."""
        body = self._templates[template].render(
            t=language.say,
            language=language,
            style_url=self._style_url,
            request_id=request.scope.get(_REQUEST_ID, ""),
            **values,
        )
        policy = _CSP.format(targets=" ".join(("'self'", *form_targets)))
        all_headers = {**_PAGE_HEADERS, "content-security-policy": policy, "content-language": language.code}
        return Response(body, status, all_headers | (headers or {}), media_type="text/html")

    async def serve_style(self, _request: Request) -> Response:
        return Response(self._style, headers=_STYLE_HEADERS, media_type="text/css")


def form_target(url: str) -> str | None:
    """The narrowest source of a Content-Security-Policy that lets a form's answer redirect to this URL.

    Browsers apply form-action to every redirect that follows a form, so the way back to an application must be named. A native
    application's own scheme has no origin, and the policy's grammar knows no IPv6 address: there the scheme must do.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets that hold no address
        return None
    if not _SCHEME(parts.scheme):
        return None
    host = parts.netloc.rpartition("@")[2].lower()
    return f"{parts.scheme}://{host}" if _HOST(host) else f"{parts.scheme}:"


def host_of(url: str) -> str:
    """By which a person recognises where they are going; empty for an application on their own device."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return parts.hostname or "" if parts.scheme in ("http", "https") else ""
