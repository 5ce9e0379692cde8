"""Parses the expressions in templates: one value with a path, filters, numbers, and a comparison.

This is a small part of the language Jinja. Expressions are never executed. The result describes the expression.
"""

import re

import msgspec

_TOKEN = re.compile(r"\s*(?:(\d{1,9}(?:\.\d{1,9})?)|([A-Za-z_]\w*)|'([^'\\]*)'|\"([^\"\\]*)\"|(==|!=|[-+*/|().,\[\]]))")
_KEEPING = frozenset(("int", "float", "round", "default", "is_defined", "string", "bool", "trim"))
"""The allowed filters and functions. The parser ignores what they do, and takes only the value to which they are applied."""
_DEEPEST = 5
_STEP_TEXT = re.compile(r"[^.\[\]{}]+")


class Unparsable(Exception):
    """The text is not an expression of the small part of Jinja that this module parses."""


class Linear(msgspec.Struct, frozen=True):
    """A value of the payload, multiplied by `scale` and increased by `offset`.

    For a constant number, `name` is None and `offset` is the number.
    """

    name: str | None = None
    path: str = ""
    scale: float = 0.0
    offset: float = 0.0

    @property
    def is_plain(self) -> bool:
        return self.name is not None and self.scale == 1 and self.offset == 0


class Choice(msgspec.Struct, frozen=True):
    """A choice between two texts.

    The text is `then` if the value equals `literal`. It is also `then` if `literal` is None and the value is true.

    Otherwise the text is `other`.
    """

    value: Linear
    literal: str | None
    then: str
    other: str


def parse_expression(text: str) -> Linear | Choice:
    """Return the meaning of an expression such as `value / 10` or `'ON' if value == '1' else 'OFF'`. Raises Unparsable."""
    parser = _Parser(text)
    parsed = parser.parse_choice() if parser.begins_with_text else parser.parse_sum()
    parser.expect_end()
    return parsed


def parse_condition(text: str, then: str, other: str) -> Choice:
    """Return the choice of a statement `{% if CONDITION %}THEN{% else %}OTHER{% endif %}`. `text` is the condition.

    Raises Unparsable.
    """
    parser = _Parser(text)
    choice = parser.parse_condition(then, other)
    parser.expect_end()
    return choice


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        """The kind of each token (number, name, text or sign), and its text."""
        at = 0
        while at < len(text.rstrip()):
            found = _TOKEN.match(text, at)
            if found is None:
                raise Unparsable
            number, name, single, double, sign = found.groups()
            texts = [("number", number), ("name", name), ("text", single), ("text", double), ("sign", sign)]
            self._tokens.append(next((kind, one) for kind, one in texts if one is not None))
            at = found.end()
        self._at = 0
        self._depth = 0

    @property
    def begins_with_text(self) -> bool:
        return self._peek()[0] == "text"

    def expect_end(self) -> None:
        if self._at < len(self._tokens):
            raise Unparsable

    def parse_choice(self) -> Choice:
        then = self._take_text()
        self._expect("if")
        choice = self.parse_condition("then", "other")
        self._expect("else")
        texts = {"then": then, "other": self._take_text()}
        return Choice(choice.value, choice.literal, texts[choice.then], texts[choice.other])

    def parse_condition(self, then: str, other: str) -> Choice:
        if self._accept("not"):
            then, other = other, then
        value = self._parse_filtered()
        literal: str | None = None
        if self._accept("=="):
            literal = self._take_literal()
        elif self._accept("!="):
            literal, then, other = self._take_literal(), other, then
        if not value.is_plain:
            raise Unparsable
        return Choice(value, literal, then, other)

    def parse_sum(self) -> Linear:
        left = self._parse_product()
        while (sign := self._peek()[1]) in ("+", "-") and self._accept(sign):
            right = self._parse_product()
            if left.name is not None and right.name is not None:
                raise Unparsable
            factor = 1 if sign == "+" else -1
            named = left if right.name is None else right
            scale = left.scale if right.name is None else factor * right.scale
            left = Linear(named.name, named.path, scale, left.offset + factor * right.offset)
        return left

    def _parse_product(self) -> Linear:
        left = self._parse_filtered()
        while (sign := self._peek()[1]) in ("*", "/") and self._accept(sign):
            right = self._parse_filtered()
            if sign == "*" and left.name is None:
                left, right = right, left
            if right.name is not None or right.offset == 0:
                raise Unparsable
            factor = right.offset if sign == "*" else 1 / right.offset
            left = Linear(left.name, left.path, left.scale * factor, left.offset * factor)
        return left

    def _parse_filtered(self) -> Linear:
        value = self._parse_primary()
        while self._accept("|"):
            if self._take("name") not in _KEEPING:
                raise Unparsable
            if self._accept("("):
                self._skip_arguments()
        return value

    def _parse_primary(self) -> Linear:
        if self._accept("-"):
            return Linear(offset=-float(self._take("number")))
        if self._peek()[0] == "number":
            return Linear(offset=float(self._take("number")))
        if self._accept("("):
            return self._parse_inside()
        name = self._take("name")
        if name in _KEEPING and self._accept("("):
            return self._parse_inside()
        return Linear(name, self._take_path(), 1.0)

    def _parse_inside(self) -> Linear:
        """Parse the text up to the closing parenthesis. In a call such as `float(value, 0)`, only the first argument counts.

        Raises Unparsable if the parentheses are nested too deeply.
        """
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unparsable
        value = self.parse_sum()
        if self._accept(","):
            self._skip_arguments()
        else:
            self._expect(")")
        self._depth -= 1
        return value

    def _take_path(self) -> str:
        path = ""
        while True:
            if self._accept("."):
                name = self._take("name")
                if name == "get" and self._accept("("):
                    name = self._take_text()
                    if not self._accept(")"):
                        self._expect(",")
                        self._skip_arguments()
                path += f".{_as_step(name)}"
            elif self._accept("["):
                kind, text = self._peek()
                self._at += 1
                is_index = kind == "number" and text.isdigit()
                path += f"[{int(text)}]" if is_index else f".{_as_step(text if kind == 'text' else '')}"
                self._expect("]")
            else:
                return path.removeprefix(".")

    def _skip_arguments(self) -> None:
        """Skip the arguments up to the closing parenthesis.

        Raises Unparsable if one of them has a parenthesis or a filter, or if the closing parenthesis is missing.
        """
        while not self._accept(")"):
            kind, text = self._peek()
            if kind == "end" or text in ("(", "|"):
                raise Unparsable
            self._at += 1

    def _take_literal(self) -> str:
        kind, text = self._peek()
        self._at += 1
        if kind == "text":
            return text
        if kind == "number":
            return f"{float(text):g}"
        if kind == "name" and text.lower() in ("true", "false"):
            return text.lower()
        raise Unparsable

    def _take_text(self) -> str:
        return self._take("text")

    def _take(self, wanted: str) -> str:
        kind, text = self._peek()
        if kind != wanted:
            raise Unparsable
        self._at += 1
        return text

    def _accept(self, text: str) -> bool:
        kind, found = self._peek()
        if kind == "text" or found != text:
            return False
        self._at += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise Unparsable

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")


def _as_step(name: str) -> str:
    if not _STEP_TEXT.fullmatch(name):
        raise Unparsable
    return name
