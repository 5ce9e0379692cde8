"""Hooks that MkDocs calls while it builds the site."""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docsite.deploy_files import READMES, make_downloads, make_pages
from docsite.outside import COPIED, adapt_links

_ROOT = Path(__file__).resolve().parents[1]
_SOURCES = {page: source for source, page in COPIED.items()} | READMES

_CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)

_WITH_WIDE_DRAWINGS = ("architecture.md",)
"""Pages without columns at their sides, so that drawings can be wider. Such a page lists its sections at the top."""
_LESS_IMPORTANT = ("decisions/", "project/")
"""Pages that the search shows after all other pages."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the place of the site at a gateway. The page 404.html needs it, because a browser shows this page at any path."""
    config.site_url = "http://localhost/docs/"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside `docs/`, and the files of `deploy/` with their pages."""
    for source, page in COPIED.items():
        files.append(File.generated(config, page, abs_src_path=str(_ROOT / source)))
    for path, content in (make_pages() | make_downloads()).items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Change links that lead out of `docs/`."""
    path = page.file.src_uri
    page.canonical_url = None  # The gateways that serve the page have different hosts.
    if path == "index.md":
        page.meta["hide"] = ["navigation"]  # the tabs show the same links
    if path in _WITH_WIDE_DRAWINGS:
        page.meta["hide"] = ["navigation", "toc"]
    elif "\n|---" in markdown and markdown.count("\n## ") < 2:
        page.meta.setdefault("hide", ["toc"])  # the table needs the place, and there is no list of sections
    if path.startswith(_LESS_IMPORTANT):
        page.meta.setdefault("search", {"boost": 0.5})
    return adapt_links(markdown, _SOURCES.get(path, f"docs/{path}"), path)


def on_page_content(html: str, **_: Any) -> str:
    """Show `\\|` in the code of a table cell as `|`. A code host does the same."""
    return _CELL.sub(lambda cell: cell[0].replace(r"\|", "|"), html)


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Name the language of the Italian pages, for screen readers and browsers."""
    return output.replace('<html lang="en"', '<html lang="it"', 1) if "/it/" in page.file.src_uri else output
