"""Pages of the site that are not in `docs/`, and links from pages to files of the repository."""

import posixpath
import re
from collections.abc import Callable

from docsite.deploy_files import find_page

PAGES = {
    "CHANGELOG.md": "project/changelog.md",
    "CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "README.md": "index.md",
    "SECURITY.md": "project/security-policy.md",
    "SUPPORT.md": "project/support.md",
    "clients/pytest-domogate/README.md": "clients/pytest.md",
    "clients/python/README.md": "clients/python.md",
    "clients/typescript/README.md": "clients/typescript.md",
}
"""The page of the site for each document outside `docs/`. The README has no page: links to it lead to the start page."""
COPIED = {source: page for source, page in PAGES.items() if source != "README.md"}
_DOCS = "docs/"
_FENCE = re.compile(r"^(`{3,}|~~~).*?^\1[ ]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^()\s]+)\)")
_URL = re.compile(r"[a-z][a-z0-9+.-]*:")


def adapt_links(text: str, source: str, page: str) -> str:
    """Change the relative links of a document so that they are right on the site.

    `source` is the path of the document in the repository; `page` is its path on the site. A link to a file of
    `deploy/` leads to the page that shows it. The site has no page for a file of the code, so the text of such a link stays,
    without the link.
    """

    def adapt(match: re.Match[str]) -> str:
        mark, words, target = match.groups()
        if _URL.match(target) or target.startswith("#"):
            return match[0]
        file, hash_sign, fragment = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), file))
        found = PAGES.get(path) or (path.removeprefix(_DOCS) if path.startswith(_DOCS) else find_page(path))
        if found is None:
            return words
        return f"{mark}[{words}]({posixpath.relpath(found, posixpath.dirname(page) or '.')}{hash_sign}{fragment})"

    return _outside_fences(text, lambda part: _LINK.sub(adapt, part))


def _outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Change the text between the fenced blocks, and keep the blocks."""
    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])
