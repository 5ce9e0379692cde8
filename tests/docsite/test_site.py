"""The documentation site: it is built without a warning, it is whole, and it needs no other host."""

import gzip
import json
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt

from docsite.building import ROOT, CannotBuild, build, run_mkdocs
from docsite.outside import COPIED, adapt_links
from docsite.packing import hash_inline_scripts
from domogate.console.documentation import load_site
from domogate.console.site_manifest import SITE
from support.markdown import code_blocks

pytestmark = pytest.mark.slow
DOCS = ROOT / "docs"
LARGEST = 6_000_000
"""In bytes. The site is a part of the wheel."""


class Reader(HTMLParser):
    """Collects the ids, the links and the loaded files of a page."""

    LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.styles = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.update(value for name in ("id", "name") if (value := values.get(name)))
        self.styles += tag == "style" or "style" in values
        if tag == "a" and (href := values.get("href")):
            self.links.append(href)
        if url := values.get(self.LOADED.get(tag, "")):
            self.loaded.append(url)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """The text files of the built site by their paths."""
    build()
    manifest = json.loads((SITE / "site.json").read_text())
    kinds = (".html", ".css", ".js", ".json")
    return {
        path: gzip.decompress((SITE / f"{path}.gz").read_bytes()).decode() for path in manifest["files"] if path.endswith(kinds)
    }


@pytest.fixture(scope="module")
def pages(texts: dict[str, str]) -> dict[str, Reader]:
    return {path: Reader(text) for path, text in texts.items() if path.endswith(".html")}


def files_of_the_site() -> set[str]:
    return set(json.loads((SITE / "site.json").read_text())["files"])


def find_broken(page: str, url: str, pages: dict[str, Reader], files: set[str]) -> Iterator[str]:
    parts = urlsplit(url)
    if parts.scheme:
        return
    path = normpath(join("/docs", dirname(page), unquote(parts.path))) if parts.path else f"/docs/{page}"
    target = "index.html" if path == "/docs" else path.removeprefix("/docs/")
    if target not in files:
        yield f"{page}: {url}: no such file"
    elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        yield f"{page}: {url}: no such id"


class TestBuild:
    def test_a_second_build_of_the_same_sources_does_nothing(self, texts: dict[str, str]) -> None:
        assert not build()

    def test_every_link_and_every_loaded_file_exists(self, pages: dict[str, Reader]) -> None:
        files = files_of_the_site()
        urls = [(page, url) for page, reader in pages.items() for url in (*reader.links, *reader.loaded)]
        assert len(urls) > 1000
        assert [line for page, url in urls for line in find_broken(page, url, pages, files)] == []

    def test_no_page_loads_anything_from_another_host(self, texts: dict[str, str], pages: dict[str, Reader]) -> None:
        assert {url for reader in pages.values() for url in reader.loaded if urlsplit(url).netloc} == set()
        styles = "".join(text for path, text in texts.items() if path.endswith(".css"))
        assert {url for url in re.findall(r"url\(['\"]?([^)'\"]+)", styles) if not url.startswith("data:")} == set()

    def test_the_policy_allows_all_inline_scripts_and_needs_no_inline_styles(
        self, texts: dict[str, str], pages: dict[str, Reader]
    ) -> None:
        needed = {one for path, text in texts.items() if path.endswith(".html") for one in hash_inline_scripts(text)}
        site = load_site(SITE)
        assert site is not None
        policy = site.page_headers["content-security-policy"]
        assert {one for one in needed if f"'{one}'" not in policy} == set()
        assert {path for path, reader in pages.items() if reader.styles} == set()
        assert not any(re.search(r"<[^>]* on[a-z]+=", text) for path, text in texts.items() if path.endswith(".html"))

    def test_it_is_small_and_leaves_out_what_no_reader_needs(self, texts: dict[str, str]) -> None:
        assert sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) < LARGEST
        assert [name for name in files_of_the_site() if name.endswith(".map") or "lunr/" in name] == []

    def test_a_page_that_is_one_table_has_no_empty_column_at_its_side(self, texts: dict[str, str]) -> None:
        hidden = re.compile(r'data-md-type="toc" hidden>')
        assert [page for page in ("metrics.html", "settings.html") if hidden.search(texts[page])] == ["metrics.html"]

    def test_its_licences_are_included(self, texts: dict[str, str]) -> None:
        licences = gzip.decompress((SITE / "licences.txt.gz").read_bytes()).decode()
        assert "Permission is hereby granted" in licences
        assert "mkdocs-material" in licences

    def test_the_search_knows_every_page(self, texts: dict[str, str], pages: dict[str, Reader]) -> None:
        known = {entry["location"].partition("#")[0] for entry in json.loads(texts["search/search_index.json"])["docs"]}
        assert {path for path in pages if path != "404.html"} == known | {"index.html"}

    def test_each_broken_link_stops_the_build(self, tmp_path: Path) -> None:
        links = {"away.md": "gone.md", "here.md": "#gone", "there.md": "other.md#gone", "picture.md": "gone.png"}
        (tmp_path / "docs").mkdir()
        for name, link in links.items():
            (tmp_path / "docs" / name).write_text(f"# Start\n\n{'!' if name == 'picture.md' else ''}[a]({link})\n")
        for name in ("index.md", "other.md"):
            (tmp_path / "docs" / name).write_text("# Other\n\n[a](away.md)\n")
        ours = (ROOT / "mkdocs.yml").read_text()
        validation = ours[ours.index("validation:") : ours.index("# The pages of single decisions")]
        (tmp_path / "mkdocs.yml").write_text(f"site_name: Trial\n{validation}")
        with pytest.raises(CannotBuild, match=f"Aborted with {len(links)} warnings") as refused:
            run_mkdocs(tmp_path / "mkdocs.yml", tmp_path / "site")
        warned = re.findall(r"^WARNING -  Doc file '(\S+)' contains a link '(\S+)',", str(refused.value), re.MULTILINE)
        assert dict(warned) == links


@pytest.fixture(scope="module")
def both_ways(texts: dict[str, str]) -> list[tuple[str, str, str]]:
    """The name of each page in docs/ with its HTML on a code host and on the site."""
    return list(read_both_ways(texts))


def read_both_ways(texts: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    reader = MarkdownIt("commonmark").enable("table")
    for path in sorted(DOCS.rglob("*.md")):
        name = path.relative_to(DOCS).with_suffix(".html").as_posix()
        article = re.search(r"<article.*?</article>", texts[name], re.DOTALL)
        assert article is not None
        yield name, reader.render(path.read_text()), article[0]


def read_cells(page: str) -> list[str]:
    """Return the words of each cell of the tables."""
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page, re.DOTALL)
    return [" ".join(unescape(re.sub("<[^>]+>", "", cell)).split()) for cell in cells]


class TestText:
    @pytest.mark.parametrize("tag", ["li", "ol", "ul", "table", "tr", "pre", "h2", "h3"])
    def test_a_page_has_the_same_structure_as_on_a_code_host(self, both_ways: list[tuple[str, str, str]], tag: str) -> None:
        """MkDocs reads another dialect of Markdown: for example, it needs four spaces before the parts of a list item."""
        different = []
        for name, *both in both_ways:
            counts = [len(re.findall(rf"<{tag}[ >]", text)) for text in both]
            if counts[0] != counts[1]:
                different.append(f"{name}: {counts[0]} and {counts[1]}")
        assert different == []

    def test_the_tables_have_the_same_words_as_on_a_code_host(self, both_ways: list[tuple[str, str, str]]) -> None:
        different = []
        for name, *both in both_ways:
            on_a_code_host, here = (read_cells(page) for page in both)
            different += [f"{name}: {cells}" for cells in zip(on_a_code_host, here, strict=True) if cells[0] != cells[1]]
        assert different == []

    def test_the_start_page_and_the_readme_show_the_same_three_lines(self) -> None:
        lines = code_blocks((DOCS / "index.md").read_text(), "sh")[0]
        assert lines.count("\n") == 3
        assert lines in code_blocks((ROOT / "README.md").read_text(), "sh")


class TestLinks:
    @pytest.mark.parametrize(
        ("source", "page", "before", "after"),
        [
            ("docs/cli.md", "cli.md", "[a](errors.md#b)", "[a](errors.md#b)"),
            ("docs/cli.md", "cli.md", "[a](../CHANGELOG.md)", "[a](project/changelog.md)"),
            ("docs/cli.md", "cli.md", "[a](../pyproject.toml)", "a"),
            ("docs/cli.md", "cli.md", "[a](https://example.com/../b)", "[a](https://example.com/../b)"),
            ("docs/decisions/0001-a.md", "decisions/0001-a.md", "[a](../cli.md)", "[a](../cli.md)"),
            ("CHANGELOG.md", "project/changelog.md", "![a](docs/images/b.png)", "![a](../images/b.png)"),
            ("clients/python/README.md", "clients/python.md", "[a](../../README.md)", "[a](../index.md)"),
            ("docs/cli.md", "cli.md", "```\n[a](../dev)\n```", "```\n[a](../dev)\n```"),
        ],
    )
    def test_a_link_out_of_docs_leads_to_a_page_of_the_site_or_is_removed(
        self, source: str, page: str, before: str, after: str
    ) -> None:
        assert adapt_links(before, source, page) == after

    def test_documents_outside_docs_have_a_page(self) -> None:
        assert {source for source in COPIED if not (ROOT / source).is_file()} == set()
