"""Reads links, headings, anchors, tables and code blocks of our Markdown documents."""

import re
from typing import NamedTuple

_FENCE = re.compile(r"^(```|~~~).*?^\1[ ]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]*)\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *$", re.MULTILINE)
_CELL = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r":?-+:?")


class Link(NamedTuple):
    text: str
    target: str


class Heading(NamedTuple):
    level: int
    text: str


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def links(text: str) -> list[Link]:
    # Only fences are blanked: a link's text may be code.
    return [Link(*match.groups()) for match in _LINK.finditer(_FENCE.sub(_blank, text))]


def headings(text: str) -> list[Heading]:
    return [Heading(len(match[1]), match[2]) for match in _HEADING.finditer(_FENCE.sub(_blank, text))]


def anchors(text: str) -> set[str]:
    """The fragments that links to this document may use."""
    found: set[str] = set()
    for heading in headings(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.text).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 0
        while (candidate := slug if not number else f"{slug}-{number}") in found:
            number += 1
        found.add(candidate)
    return found


def section(text: str, title: str) -> str:
    """The text under the heading `title`, up to the next heading of the same or a higher level."""
    lines = text.splitlines(keepends=True)
    plain = _FENCE.sub(_blank, text).splitlines()
    start = level = None
    for number, line in enumerate(plain):
        match = _HEADING.fullmatch(line)
        if match is None:
            continue
        if start is None and match[2] == title:
            start, level = number + 1, len(match[1])
        elif start is not None and level is not None and len(match[1]) <= level:
            return "".join(lines[start:number])
    if start is None:
        raise LookupError(f"no heading {title!r}")
    return "".join(lines[start:])


def tables(text: str) -> list[list[dict[str, str]]]:
    """Each table as a list of rows, keyed by the table's own header."""
    found: list[list[dict[str, str]]] = []
    header: list[str] | None = None
    for line in [*_FENCE.sub(_blank, text).splitlines(), ""]:
        row = line.strip()
        if not (row.startswith("|") and row.endswith("|")):
            header = None
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in _CELL.split(row[1:-1])]
        if header is None:
            header = cells
            found.append([])
        elif len(cells) != len(header):
            raise ValueError(f"{len(cells)} cells under a header of {len(header)}: {row}")
        elif not all(_RULE.fullmatch(cell) for cell in cells):
            found[-1].append(dict(zip(header, cells, strict=True)))
    return found


def code_blocks(text: str, language: str) -> list[str]:
    """The contents of the fenced blocks in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
