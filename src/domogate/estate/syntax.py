"""Text that is not YAML at all: what the parser says, in words for the person who wrote the file."""

import re

import yaml

from domogate.estate.mistakes import Mistake

# The two parsers of PyYAML word the same problem differently; the first pattern found in either wording decides.
_WORDINGS: tuple[tuple[str, str], ...] = (
    (r"mapping values are not allowed", "this ':' cannot stand here: quote a text that holds ': ', or mend the indentation"),
    (r"',' or ']'", "a list opened with '[' is not closed, or a ',' is missing in it"),
    (r"',' or '}'", "a mapping opened with '{' is not closed, or a ',' is missing in it"),
    (r"unexpected end of stream", "a quoted text is not closed before the end of the file"),
    (r"cannot start any token", "this character cannot start a value: quote the text, and indent with spaces, not with tabs"),
    (
        r"unknown escape character",
        "there is no such '\\' escape in a double-quoted text; use single quotes to keep it as it is",
    ),
    (r"could not find expected ':'", "a ':' is missing after a key, or a text runs on into the next line without quotes"),
    (r"expected key|<block end>|'-' indicator", "this line does not fit the lines above it; mend its indentation"),
    (r"<document start>", "there is something after the end of the document"),
    (
        r"special characters are not allowed|control characters",
        "a control character stands here; write it as an escape in double quotes",
    ),
)


def syntax_mistake(error: yaml.YAMLError) -> Mistake:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    said = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    problem = next((ours for pattern, ours in _WORDINGS if re.search(pattern, said)), f"this is not YAML: {said}")
    return Mistake(mark.line + 1 if mark else 1, mark.column + 1 if mark else 1, "", problem)
