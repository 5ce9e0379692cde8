"""E20: converts a JSON object to an XML document (Decision 0017).

The root element is Document. A key becomes an element, an array becomes repeated elements, null becomes an empty element.
If a key has characters that XML does not allow in a name, each is written as _xHHHH_ (HHHH: its hexadecimal code).
"""

import re
from typing import Any
from xml.etree import ElementTree

from domogate.domain.faults import BodyTooLarge, MalformedRequest

MOST_IN_TAGS = 1_000_000
"""All tags of a document together have at most this number of characters. The texts are limited by the size of the request."""

# Characters that every edition of XML 1.0 allows in a name.
_START = r"A-Z_a-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u00FF"
_IN_NAME = rf"{_START}0-9.\-"
# An underscore is escaped if a reader could take it for the start of an escape. The escape of a character begins with an
# underscore, which could be the end of such a false escape. The name `_` is for the empty key.
_ESCAPED = re.compile(rf"\A[^{_START}]|[^{_IN_NAME}]|\A_\Z|_(?=x[0-9A-Fa-f]{{4,6}}(?:_|[^{_IN_NAME}]))")
# Characters that XML 1.0 cannot represent, not even escaped (§2.2).
# The refused characters are listed, not the allowed ones: Python needs 10 ms to compile a range beyond U+FFFF.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def to_xml(resource: dict[str, Any]) -> bytes:
    """Return the XML document.

    Raises MalformedRequest if the resource has a character that XML cannot represent. Raises BodyTooLarge if the tags of
    the document would have more than `MOST_IN_TAGS` characters.
    """
    root = ElementTree.Element("Document")
    _Elements().append_fields(root, resource)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


class _Elements:
    """Adds elements to a document, and limits the size of their tags.

    Each item of an array becomes an element with the name of the array. So a short body with a long key and many items could
    become a very long document.
    """

    def __init__(self) -> None:
        self._left = MOST_IN_TAGS

    def append_fields(self, parent: ElementTree.Element, fields: dict[str, Any]) -> None:
        for key, value in fields.items():
            self._append(parent, _name(key), value)

    def _append(self, parent: ElementTree.Element, name: str, value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                self._append(parent, name, item)
            return
        self._left -= 2 * len(name) + len("<></>")
        if self._left < 0:
            raise BodyTooLarge(f"the body would have more than {MOST_IN_TAGS} characters in the tags of its XML")
        element = ElementTree.SubElement(parent, name)
        if isinstance(value, dict):
            self.append_fields(element, value)
        elif value is not None:
            element.text = _text(value)


def _text(value: str | bool | int | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if _NOT_XML.search(text):
        raise MalformedRequest("the body has a character that XML cannot represent")
    return text


def _name(key: str) -> str:
    return _ESCAPED.sub(_escape, key) or "_"


def _escape(match: re.Match[str]) -> str:
    return f"_x{ord(match.group()):04X}_"
