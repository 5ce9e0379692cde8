"""Makes the answers that contain a file of the pages or of the documentation: compression, ETag and the headers that protect a
page.
"""

from domogate.common.http_messages import Answer, Request, join_header, make_answer, matches_etag
from domogate.console.files import File

CHECKED = "no-cache"
IMMUTABLE = "public, max-age=31536000, immutable"

_FILE_HEADERS = {"x-content-type-options": "nosniff", "vary": "Accept-Encoding"}
_POLICY = (
    "default-src 'none'; script-src 'self'{scripts}; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; "
    "font-src 'self'; manifest-src 'self'; worker-src 'self'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'"
)


def make_page_headers(script_hashes: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the headers of a page. Its inline scripts run only if their hashes are in `script_hashes`."""
    return {
        "content-security-policy": _POLICY.format(scripts="".join(f" '{one}'" for one in script_hashes)),
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }


def answer_file(request: Request, file: File, headers: dict[str, str], status: int = 200) -> Answer:
    body, coding = file.encode((join_header(request.headers, b"accept-encoding") or b"").decode("latin-1"))
    etag = f'"{file.etag}-{coding}"' if coding else f'"{file.etag}"'
    common = {**_FILE_HEADERS, **headers, "etag": etag}
    if status == 200 and matches_etag(join_header(request.headers, b"if-none-match"), etag.encode()):
        return make_answer(304, b"", common)
    if coding:
        common["content-encoding"] = coding
    return make_answer(status, body, common, file.media_type)


def answer_not_built(page: bytes) -> Answer:
    headers = {**make_page_headers(), **_FILE_HEADERS, "cache-control": "no-store"}
    return make_answer(503, page, headers, "text/html; charset=utf-8")


def redirect(status: int, path: str, headers: dict[str, str] | None = None) -> Answer:
    return make_answer(status, b"", {**(headers or {}), "location": path})


def refuse_method() -> Answer:
    return make_answer(405, b"", {"allow": "GET, HEAD"})
