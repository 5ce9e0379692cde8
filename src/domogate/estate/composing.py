"""Parses YAML text into nodes.

Nodes are built from the parser's events with a list as stack, without recursion. While reading, nesting is limited and aliases
are refused. So no file can use up the memory. The text is read in pieces. Each plant is passed to `take_plant` as soon as
the plant is complete. So a large file needs no more memory than its largest plant.
"""

import re
from collections.abc import Callable, Iterator
from typing import TextIO

import yaml

from domogate.domain.estate import Mistake
from domogate.estate.mistakes import print_path, quoted
from domogate.estate.nodes import MAX_DEPTH, PLANTS, Entry, Listing, Mapping, Node, Scalar
from domogate.estate.syntax import syntax_mistake

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# YAML 1.2 §5.1, without surrogates. NUL is also refused in escapes, because databases cannot store it.
# The refused characters are listed, not the allowed ones: Python needs 10 ms to compile a range beyond U+FFFF.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]").search
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]").search

TakePlant = Callable[[Mapping, int, Node], None]
"""A function that is called with each plant.

Its arguments are the part of the document before the plant, the index of the plant, and the plant.
"""

_PASSED_ON = Scalar("", True, 0, 0)
"""The node that replaces a plant in the document after the plant was passed to `take_plant`."""


def compose(file: TextIO, take_plant: TakePlant | None = None) -> tuple[Node | None, list[Mistake]]:
    """Return the root of the document, and the mistakes in the YAML syntax.

    The root is None if the file is empty or could not be parsed to its end. If `take_plant` is given, it is called with each
    plant. Then the returned document has an empty node in the place of each plant. Raises UnicodeDecodeError if the file is not
    UTF-8.
    """
    text = _CheckedText(file)
    composer = _Composer(take_plant)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if not composer.take(event):
                return None, composer.mistakes
    except _UnprintableCharacter as refused:
        return None, [refused.mistake]
    except yaml.YAMLError as error:
        return None, [*composer.mistakes, syntax_mistake(error)]
    if composer.root is None:
        composer.mistakes.append(Mistake(1, 1, "", "the file is empty"))
    return composer.root, composer.mistakes


class _UnprintableCharacter(Exception):
    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake)
        self.mistake = mistake


class _CheckedText:
    """Reads text for the parser, and checks its characters."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._line = self._column = 0
        self._at_start = True

    def read(self, size: int) -> str:
        """Return the next piece of the text. An empty text is the end of the file.

        Raises _UnprintableCharacter, UnicodeDecodeError.
        """
        text = self._file.read(size)
        if self._at_start:
            self._at_start = False
            text = text.removeprefix("\ufeff") or self._file.read(size)
        odd = _UNPRINTABLE(text)
        self._move(text[: odd.start()] if odd else text)
        if odd:
            problem = f"the character U+{ord(odd[0]):04X} is not allowed in a text file"
            allowed = "it may be written as an escape in double quotes"
            raise _UnprintableCharacter(Mistake(self._line + 1, self._column + 1, "", problem, allowed))
        return text

    def _move(self, text: str) -> None:
        lines = text.count("\n")
        self._line += lines
        self._column = len(text) - text.rfind("\n") - 1 if lines else self._column + len(text)


class _Open:
    """A list or mapping that is still being read."""

    def __init__(self, node: Listing | Mapping) -> None:
        self.node = node
        self.key: Scalar | None = None
        self.at_value = False

    @property
    def step(self) -> str | int:
        return len(self.node.items) if isinstance(self.node, Listing) else self.key.text if self.key else "?"


class _Composer:
    def __init__(self, take_plant: TakePlant | None) -> None:
        self._take_plant = take_plant
        self.root: Node | None = None
        self.mistakes: list[Mistake] = []
        self._stack: list[_Open] = []
        self._documents = 0

    def take(self, event: yaml.Event) -> bool:
        """Handle the next event of the YAML parser. Returns False at a mistake after which the rest of the file is not read."""
        mark = event.start_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        # Nearly all events are correct scalars, so they are handled first.
        if type(event) is yaml.ScalarEvent and event.anchor is None and event.tag is None and not _NOT_STORABLE(event.value):
            self._scalar(Scalar(event.value, not event.style, line, column))
            return True
        for problem in self._refusals(event):
            self._report(line, column, problem)
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._report(line, column, "a second document begins here", "one document in a file")
                return False
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(Scalar(event.value, not event.style, line, column))
        elif isinstance(event, yaml.AliasEvent):
            self._scalar(Scalar("", True, line, column))
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            if len(self._stack) == MAX_DEPTH:
                self._report(line, column, "this is nested too deeply", f"{MAX_DEPTH} levels")
                return False
            is_list = isinstance(event, yaml.SequenceStartEvent)
            self._stack.append(_Open(Listing([], line, column) if is_list else Mapping({}, line, column)))
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            self._add(self._stack.pop().node)
        return True

    @staticmethod
    def _refusals(event: yaml.Event) -> Iterator[str]:
        if isinstance(event, yaml.AliasEvent):
            yield f"the alias '*{event.anchor}' cannot be used here: write the value out"
        elif isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            yield f"the anchor '&{event.anchor}' cannot be used here: leave it out"
        if (tag := getattr(event, "tag", None)) is not None:
            yield f"the tag {quoted(tag)} cannot be used here: leave it out"
        if isinstance(event, yaml.ScalarEvent) and (odd := _NOT_STORABLE(event.value)):
            yield f"the character U+{ord(odd[0]):04X} cannot be stored"

    def _scalar(self, scalar: Scalar) -> None:
        top = self._stack[-1] if self._stack else None
        if top is None or isinstance(top.node, Listing) or top.at_value:
            self._add(scalar)
        else:
            top.key, top.at_value = scalar, True

    def _add(self, node: Node) -> None:
        if not self._stack:
            self.root = node
            return
        top = self._stack[-1]
        if isinstance(top.node, Listing):
            outer = self._stack[0]
            if (
                self._take_plant is not None
                and len(self._stack) == 2
                and isinstance(outer.node, Mapping)
                and outer.step == PLANTS
            ):
                self._take_plant(outer.node, len(top.node.items), node)
                node = _PASSED_ON
            top.node.items.append(node)
            return
        if not top.at_value:
            self._report(node.line, node.column, "a key must be a word, not a list or a mapping")
            top.key, top.at_value = None, True
            return
        key, top.at_value = top.key, False
        if key is None:
            return
        if (first := top.node.entries.get(key.text)) is not None:
            self._report(key.line, key.column, f"{quoted(key.text)} is used twice; the first is in line {first.line}")
            return
        top.node.entries[key.text] = Entry(node, key.line, key.column)
        top.key = None

    def _report(self, line: int, column: int, problem: str, allowed: str = "") -> None:
        path = print_path([opened.step for opened in self._stack if not isinstance(opened.node, Mapping) or opened.key])
        self.mistakes.append(Mistake(line, column, path, problem, allowed))
