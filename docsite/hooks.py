"""Hooks that MkDocs calls while it builds the site."""

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docsite.outside import COPIED, adapt_links

_ROOT = Path(__file__).resolve().parents[1]
_SOURCES = {page: source for source, page in COPIED.items()}


_LESS_IMPORTANT = ("decisions/", "project/")
"""Pages that the search shows after all other pages."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the place of the site at a gateway. The page 404.html needs it, because a browser shows this page at any path."""
    config.site_url = "http://localhost/docs/"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside `docs/`."""
    for source, page in COPIED.items():
        files.append(File.generated(config, page, abs_src_path=str(_ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Change links that lead out of `docs/`."""
    path = page.file.src_uri
    page.canonical_url = None  # The gateways that serve the page have different hosts.
    if path == "index.md":
        page.meta["hide"] = ["navigation"]  # the tabs show the same links
    if path.startswith(_LESS_IMPORTANT):
        page.meta.setdefault("search", {"boost": 0.5})
    return adapt_links(markdown, _SOURCES.get(path, f"docs/{path}"), path)


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Name the language of the Italian pages, for screen readers and browsers."""
    return output.replace('<html lang="en"', '<html lang="it"', 1) if "/it/" in page.file.src_uri else output
