"""Error messages about text that is not valid YAML."""

import re

import yaml

from domogate.domain.estate import Mistake

# The two parsers of PyYAML have different messages for the same problem. The first pattern that matches is used.
_WORDINGS: tuple[tuple[str, str], ...] = (
    (
        r"mapping values are not allowed",
        "this ':' is not allowed here: quote a text with ': ' in it, or correct the indentation",
    ),
    (r"',' or ']'", "a list opened with '[' is not closed, or a ',' is missing in it"),
    (r"',' or '}'", "a mapping opened with '{' is not closed, or a ',' is missing in it"),
    (r"unexpected end of stream", "a quoted text is not closed before the end of the file"),
    (r"cannot start any token", "this character cannot start a value: quote the text, and indent with spaces, not with tabs"),
    (
        r"unknown escape character",
        "there is no such '\\' escape in a double-quoted text; use single quotes to keep the '\\'",
    ),
    (r"could not find expected ':'", "a ':' is missing after a key, or a text without quotes continues in the next line"),
    (r"expected key|<block end>|'-' indicator", "this line does not match the lines above it; correct its indentation"),
    (r"<document start>", "there is more text after the end of the document"),
    (
        r"special characters are not allowed|control characters",
        "this is a control character; write it as an escape in double quotes",
    ),
)


def syntax_mistake(error: yaml.YAMLError) -> Mistake:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    message = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    problem = next((ours for pattern, ours in _WORDINGS if re.search(pattern, message)), f"this is not YAML: {message}")
    return Mistake(mark.line + 1 if mark else 1, mark.column + 1 if mark else 1, "", problem)
