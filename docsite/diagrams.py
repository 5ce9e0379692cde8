"""Draws the Mermaid diagrams of the pages as SVG, while the site is built (Decision 0136)."""

import hashlib
import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from pymdownx.superfences import SuperFencesException

KINDS = ("flowchart", "sequenceDiagram")
"""The kinds of diagrams for which the style sheet has colours, and of which the labels are checked."""
_SETTINGS = {
    "theme": "base",
    "look": "classic",
    "fontFamily": "arial,sans-serif",
    "fontSize": 14,
    "themeVariables": {"fontFamily": "arial,sans-serif", "fontSize": "14px"},
    "flowchart": {"nodeSpacing": 24, "rankSpacing": 36, "padding": 16, "wrappingWidth": 300},
    "sequence": {
        "wrap": True,
        "width": 140,
        "height": 50,
        "actorMargin": 20,
        "diagramMarginX": 16,
        "messageMargin": 28,
    },
}
_DEADLINE = 120.0
_TITLE = re.compile(r"^\s*accTitle:\s*(.+?)\s*$", re.MULTILINE)
_LABELS = {
    "flowchart": re.compile(r'"([^"]+)"'),
    "sequenceDiagram": re.compile(r"^\s*participant \w+ as (.+)$|^(?!\s*accTitle)[^:\n]+:(.+)$", re.MULTILINE),
}
_BREAK = re.compile(r"<br\s*/?>")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_KEPT = re.compile(
    "class|d|dominant-baseline|dx|dy|font-size|height|marker(-end|-start|Height|Units|Width)|orient|points|r|ref[XY]|text-anchor"
    "|transform|viewBox|width|r?[xy]|[xy][12]|c[xy]"
)
"""The attributes that stay. The style sheet has the colours, because they depend on the colour scheme of the reader."""
_STYLES = re.compile(r"(text-anchor|font-size)\s*:\s*([^;]+)")
_EMPTY = ("defs", "g")
_DROPPED = {"style", "filter", "linearGradient", "symbol", "title", "desc"}


class CannotDraw(Exception):
    """A diagram cannot be drawn. The message says why."""


def draw_fence(source: str, *_: Any, **__: Any) -> str:
    """Return the HTML of a block ```mermaid. SuperFences calls this function, and only its own exception stops the build."""
    try:
        return draw(source)
    except CannotDraw as problem:
        raise SuperFencesException(str(problem)) from problem


def draw(source: str) -> str:
    """Return a drawing of the diagram as HTML, with its title and its source. Raises CannotDraw."""
    kind = (source.split() or [""])[0]
    if kind not in KINDS:
        raise CannotDraw(f"docsite/diagrams.py can draw {' and '.join(KINDS)}, but not {kind!r}.")
    found = _TITLE.search(source)
    if found is None:
        raise CannotDraw(f"a diagram needs a line `accTitle: …`, which says what it shows:\n{source}")
    name = f"diagram-{hashlib.sha256(source.encode()).hexdigest()[:8]}"
    svg = _keep_geometry(ElementTree.fromstring(_run_mmdr(source)), name)
    if missing := _find_missing_words(source, kind, svg):
        words = ", ".join(missing)
        raise CannotDraw(f"these words are missing or divided in the drawing, so write <br> in the label: {words}\n{source}")
    svg.set("aria-hidden", "true")
    return (
        f'<figure class="diagram" data-search-exclude>'
        f'<div role="img" tabindex="0" aria-label="{html.escape(found[1])}">{ElementTree.tostring(svg, "unicode")}</div>'
        f"<details><summary>The drawing as text</summary><pre><code>{html.escape(source)}</code></pre></details></figure>"
    )


def _run_mmdr(source: str) -> str:
    """Return the SVG that mmdr makes. It runs in a process of its own, because its native code prints warnings at the end."""
    told = subprocess.run(
        [sys.executable, "-m", "mmdr"],
        input=f"%%{{init: {json.dumps(_SETTINGS)}}}%%\n{source}",
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=_DEADLINE,
    )
    if told.returncode:
        raise CannotDraw(f"{told.stderr}\n{source}")
    return told.stdout


def _find_missing_words(source: str, kind: str, svg: ElementTree.Element) -> list[str]:
    """Return the words of the labels that are not in the drawing as a whole."""
    drawn = {word for text in svg.iter("text") for word in _read_words(text)}
    return sorted({word for label in _find_labels(source, kind) for word in label.split()} - drawn)


def _read_words(text: ElementTree.Element) -> list[str]:
    lines = text.findall("tspan")
    return [word for line in lines or [text] for word in "".join(line.itertext()).split()]


def _find_labels(source: str, kind: str) -> Iterator[str]:
    for found in _LABELS[kind].finditer(source):
        yield _BREAK.sub(" ", next(group for group in found.groups() if group))


def _keep_geometry(svg: ElementTree.Element, name: str) -> ElementTree.Element:
    """Remove colours, styles and unused parts. A page has several drawings, so `name` makes their ids different."""
    _clean(svg, {element.get("id", "") for element in svg.iter()} & set(_find_references(svg)), name)
    _, _, width, height = svg.get("viewBox", "").split()
    svg.attrib.update({"width": f"{float(width):.0f}", "height": f"{float(height):.0f}"})
    return svg


def _find_references(svg: ElementTree.Element) -> Iterator[str]:
    for element in svg.iter():
        for value in element.attrib.values():
            yield from _REFERENCE.findall(value)


def _clean(element: ElementTree.Element, used: set[str], name: str) -> None:
    element.tag = element.tag.rpartition("}")[2]
    styles = dict(_STYLES.findall(element.get("style", "")))
    kept = {key: _REFERENCE.sub(rf"url(#{name}-\1)", value) for key, value in element.items() if _KEPT.fullmatch(key)}
    identity = element.get("id", "")
    element.attrib.clear()
    element.attrib.update(kept | styles)
    if identity in used:
        element.set("id", f"{name}-{identity}")
    for child in list(element):
        _clean(child, used, name)
        is_unused = (child.tag == "marker" and "id" not in child.attrib) or (child.tag in _EMPTY and not len(child))
        if is_unused or child.tag in _DROPPED:
            element.remove(child)
