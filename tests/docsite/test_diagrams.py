"""The diagrams of the pages: the build draws each of them completely, or it fails."""

import gzip
import re
from pathlib import Path

import pytest

from docsite.building import ROOT, CannotBuild, build, run_mkdocs
from docsite.diagrams import KINDS, CannotDraw, draw
from domogate.console.site_manifest import SITE
from support.markdown import code_blocks

DOCS = ROOT / "docs"
SEQUENCE = """sequenceDiagram
    accTitle: Switching a lamp
    participant A as application
    participant G as edge,<br>services
    Note over A: before everything
    A->>G: one & "two"
    G-->>A: 200
"""
FLOWCHART = """flowchart LR
    accTitle: Two folders
    a["cli: commands"] -->|"imports"| b["app: <br>all parts"]
"""


def read_page(name: str) -> str:
    return gzip.decompress((SITE / f"{name}.gz").read_bytes()).decode()


class TestDrawing:
    @pytest.mark.parametrize("source", [SEQUENCE, FLOWCHART])
    def test_it_has_its_title_its_labels_and_its_source(self, source: str) -> None:
        drawn = draw(source)
        title = re.findall("accTitle: (.*)", source)[0]
        assert f'role="img" tabindex="0" aria-label="{title}"' in drawn
        svg, _, rest = drawn.partition("</svg>")
        assert 'aria-hidden="true"' in svg
        assert "accTitle" not in svg
        assert f"accTitle: {title}" in rest

    def test_a_note_before_the_first_message_is_drawn(self) -> None:
        assert "before everything" in draw(SEQUENCE).partition("</svg>")[0]

    @pytest.mark.parametrize("source", [SEQUENCE, FLOWCHART])
    def test_it_has_no_colours_and_styles_of_its_own(self, source: str) -> None:
        svg = draw(source).partition("<details>")[0]
        assert re.findall(r' (?:style|fill|stroke|filter)="|<style|<script', svg) == []

    def test_two_drawings_of_a_page_share_no_id(self) -> None:
        first, second = (
            set(re.findall(r' id="([^"]+)"', draw(source))) for source in (SEQUENCE, f"{SEQUENCE}    A->>G: more\n")
        )
        assert first
        assert second
        assert not first & second

    def test_each_reference_leads_to_an_id_of_the_same_drawing(self) -> None:
        for source in (SEQUENCE, FLOWCHART):
            drawn = draw(source)
            assert set(re.findall(r"url\(#([^)]+)\)", drawn)) == set(re.findall(r' id="([^"]+)"', drawn))

    def test_the_same_source_gives_the_same_drawing(self) -> None:
        assert draw(SEQUENCE) == draw(SEQUENCE)


class TestMistakes:
    @pytest.mark.parametrize(
        ("source", "problem"),
        [
            ('pie\n    accTitle: A\n    "a": 3\n', "'pie'"),
            ("stateDiagram-v2\n    accTitle: A\n    a --> b\n", "'stateDiagram-v2'"),
            ("", "''"),
            ("flowchart LR\n    a --> b\n", "accTitle"),
            ("flowchart LR\n    accTitle: A\n    a --\n", "link"),
            (f"sequenceDiagram\n    accTitle: A\n    A->>B: {'services/' * 9}\n", "services/"),
        ],
    )
    def test_a_diagram_that_cannot_be_drawn_is_refused(self, source: str, problem: str) -> None:
        with pytest.raises(CannotDraw, match=re.escape(problem)):
            draw(source)

    @pytest.mark.slow
    def test_it_stops_the_build(self, tmp_path: Path) -> None:
        ours = (ROOT / "mkdocs.yml").read_text()
        extensions = ours[ours.index("markdown_extensions:") : ours.index("validation:")]
        (tmp_path / "mkdocs.yml").write_text(f"site_name: Trial\n{extensions}")
        (tmp_path / "docs").mkdir()
        right, wrong = f"```mermaid\n{FLOWCHART}```\n", "```mermaid\ngantt\n    title A plan\n```\n"
        (tmp_path / "docs" / "index.md").write_text(f"# Start\n\n{right}\n{wrong}")
        with pytest.raises(CannotBuild, match="'gantt'"):
            run_mkdocs(tmp_path / "mkdocs.yml", tmp_path / "site")


@pytest.mark.slow
class TestSite:
    def test_each_diagram_is_a_drawing(self) -> None:
        build()
        sources = {path.relative_to(DOCS): len(code_blocks(path.read_text(), "mermaid")) for path in DOCS.rglob("*.md")}
        assert sum(sources.values()) > 5
        drawn = {path: read_page(f"{path.with_suffix('.html')}").count('<figure class="diagram"') for path in sources}
        assert drawn == sources

    def test_no_page_shows_the_source_of_a_diagram_instead_of_a_drawing(self) -> None:
        build()
        kinds = re.compile(rf"<(?:pre|code)[^>]*>(?:<[^>]+>)*\s*(?:{'|'.join(KINDS)})\b")
        shown = []
        for path in sorted(SITE.rglob("*.html.gz")):
            page = gzip.decompress(path.read_bytes()).decode()
            without_drawings = re.sub(r'<figure class="diagram".*?</figure>', "", page, flags=re.DOTALL)
            if "mermaid" in re.findall(r'class="([^"]*)"', without_drawings) or kinds.search(without_drawings):
                shown.append(path.name)
        assert shown == []
