"""Renders templates. Values are escaped. The content security policy allows only our own script, on pages that need it.

jinja2 is imported when a page is rendered for the first time. A template is compiled at its first use (Decision 0098).
"""

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from domogate.auth.pages.language import Language
from domogate.domain.login_names import print_email

if TYPE_CHECKING:
    import jinja2

STYLE_PATH = "/auth/pages/style.css"
SCRIPT_PATH = "/auth/pages/passkeys.js"
_CSP = (
    "default-src 'none'; {script}style-src 'self'; img-src 'self' data:; form-action {targets}; frame-ancestors 'none'; "
    "base-uri 'none'"
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
_FILE_HEADERS = {
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
}
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*", re.ASCII).fullmatch
_HOST = re.compile(r"[a-z0-9.-]+(:[0-9]+)?", re.ASCII).fullmatch
# The edge sets this id. Error pages show it, so that an operator can find the request in the log.
_REQUEST_ID = "domogate.request_id"
_FOLDER = files("domogate.auth.pages")


@cache
def open_templates() -> "jinja2.Environment":
    """Return the environment that compiles each template when it is first used, and keeps all compiled templates."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("domogate.auth.pages"),
        autoescape=True,
        auto_reload=False,
        cache_size=-1,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["login"] = print_email
    return environment


@cache
def _read_files() -> tuple[bytes, bytes]:
    """Return the style sheet and the script."""
    style = (_FOLDER / "shared.css").read_bytes() + (_FOLDER / "style.css").read_bytes()
    return style, (_FOLDER / "passkeys.js").read_bytes()


class Renderer:
    """Renders all templates and serves the style sheet and the script."""

    def __init__(self) -> None:
        self._style, self._script = _read_files()
        self._style_url = _versioned(STYLE_PATH, self._style)
        self._script_url = _versioned(SCRIPT_PATH, self._script)

    def page(
        self,
        request: Request,
        template: str,
        language: Language,
        *,
        status: int = 200,
        form_targets: tuple[str, ...] = (),
        headers: dict[str, str] | None = None,
        script_source: str | None = None,
        **values: Any,
    ) -> Response:
        """Render the template as a page.

        `form_targets` are the other sites that a form may redirect to (see `form_target`). `script_source` is the URL of our
        script, for a page that needs it. No other script runs.
        """
        body = (
            open_templates()
            .get_template(template)
            .render(
                t=language.say,
                language=language,
                style_url=self._style_url,
                script_url=self._script_url if script_source else None,
                request_id=request.scope.get(_REQUEST_ID, ""),
                **values,
            )
        )
        script = f"script-src {script_source}; " if script_source else ""
        policy = _CSP.format(script=script, targets=" ".join(("'self'", *form_targets)))
        all_headers = {**_PAGE_HEADERS, "content-security-policy": policy, "content-language": language.code}
        return Response(body, status, all_headers | (headers or {}), media_type="text/html")

    async def serve_style(self, _request: Request) -> Response:
        return Response(self._style, headers=_FILE_HEADERS, media_type="text/css")

    async def serve_script(self, _request: Request) -> Response:
        return Response(self._script, headers=_FILE_HEADERS, media_type="text/javascript")


def _versioned(path: str, content: bytes) -> str:
    """Return the URL of a file. The URL changes with the content, so browsers may cache the file."""
    return f"{path}?v={hashlib.sha256(content).hexdigest()[:12]}"


def form_target(url: str) -> str | None:
    """Return the narrowest source expression of a Content-Security-Policy that allows a redirect from a form to this URL.

    Return None if the URL is not valid.

    Browsers apply form-action to every redirect that follows a form. So the policy must name the origin of the application's
    redirect URI. In two cases, the expression is only the scheme of the URL. First, the scheme belongs to a native application,
    so the URL has no origin. Second, the host is an IPv6 address: the grammar of the policy has no IPv6 addresses.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # invalid address in brackets
        return None
    if not _SCHEME(parts.scheme):
        return None
    host = parts.netloc.rpartition("@")[2].lower()
    return f"{parts.scheme}://{host}" if _HOST(host) else f"{parts.scheme}:"


def host_of(url: str) -> str:
    """Return the host of the URL, for a page that shows it. Return "" if the scheme is neither http nor https."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return parts.hostname or "" if parts.scheme in ("http", "https") else ""
