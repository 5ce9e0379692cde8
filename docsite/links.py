"""The links from the documentation to other sites: their form, and whether their pages exist (`./dev site --links`)."""

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from docsite.outside import PAGES

HOSTS = frozenset(
    {
        "alembic.sqlalchemy.org",
        "cheatsheetseries.owasp.org",
        "cloudevents.io",
        "cyclonedx.org",
        "developers.home-assistant.io",
        "diataxis.fr",
        "docs.nats.io",
        "docs.sqlalchemy.org",
        "github.com",
        "html.spec.whatwg.org",
        "json-schema.org",
        "keepachangelog.com",
        "mermaid.js.org",
        "peps.python.org",
        "pyjwt.readthedocs.io",
        "reproducible-builds.org",
        "semver.org",
        "squidfunk.github.io",
        "www.home-assistant.io",
        "www.mkdocs.org",
        "www.postgresql.org",
        "www.rfc-editor.org",
        "www.standardwebhooks.com",
    }
)
"""The hosts to which the documentation may link. A new host is added here on purpose: does the page last, and who runs it?"""

_TIMEOUT = 20.0
_AT_ONCE = 8
_HEAD_NOT_POSSIBLE = (403, 404, 405, 501)
"""Some servers answer HEAD with these statuses, although they answer GET with the page."""
_TOO_MANY = 429

_CODE = re.compile(r"^( *)(```+).*?^\1\2 *$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINKS = (
    re.compile(r"\]\(\s*(https?:[^)\s]*)"),
    re.compile(r"<(https?:[^>\s]*)>"),
    re.compile(r"^\s*\[[^\]]+\]:\s*(https?:\S*)", re.MULTILINE),
    re.compile(r"\b(?:href|src)=\"(https?:[^\"]*)\""),
)


class Dead(NamedTuple):
    """A link whose page cannot be read."""

    url: str
    reason: str


def list_pages(root: Path) -> list[Path]:
    """Return the pages of the site, and the README."""
    return [*sorted((root / "docs").rglob("*.md")), *(root / source for source in PAGES)]


def find_links(text: str) -> Iterator[str]:
    """Yield the links of a page to other sites. Examples in code are not links."""
    prose = _CODE.sub("", text)
    for pattern in _LINKS:
        yield from pattern.findall(prose)


def collect_links(pages: Iterable[Path]) -> dict[str, list[Path]]:
    """Return each link with the pages that have it."""
    found: dict[str, list[Path]] = {}
    for page in pages:
        for url in find_links(page.read_text(encoding="utf-8")):
            found.setdefault(url, []).append(page)
    return found


def find_mistake(url: str) -> str:
    """Return what is wrong with the form of a link, or an empty text."""
    parts = urlsplit(url)
    if parts.scheme != "https":
        return "it does not begin with https://"
    if parts.netloc not in HOSTS:
        return f"the host {parts.netloc!r} is not in HOSTS of docsite/links.py"
    if not re.fullmatch(r"[\w./~%+,=&?#:;@!()-]*", url.partition("//")[2], re.ASCII):
        return "it has a character that must be encoded"
    if re.search(r"[.,;:!]$", url):
        return "it ends with the punctuation of the sentence"
    return ""


def ask_all(urls: Iterable[str], timeout: float = _TIMEOUT) -> list[Dead]:
    """Ask for each page. Return the links whose pages cannot be read."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        asked = pool.map(partial(_ask, timeout=timeout), sorted({url.partition("#")[0] for url in urls}))
        return [dead for dead in asked if dead is not None]


def _ask(url: str, timeout: float) -> Dead | None:
    problem = _request("HEAD", url, timeout)
    if problem in _HEAD_NOT_POSSIBLE:
        problem = _request("GET", url, timeout)
    if problem in ("", _TOO_MANY):
        return None
    return Dead(url, f"status {problem}" if isinstance(problem, int) else problem)


def _request(method: str, url: str, timeout: float) -> str | int:
    """Return the status or the reason of a failure, or an empty text."""
    try:
        with urlopen(Request(url, method=method, headers={"User-Agent": "domogate-links"}), timeout=timeout):
            return ""
    except HTTPError as error:
        error.close()
        return error.code
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        return str(reason) or type(reason).__name__
