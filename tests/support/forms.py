"""The forms of an HTML page, as a browser sends them."""

import html
import json
import re
from html.parser import HTMLParser
from typing import Any

Pairs = list[tuple[str, str]]


class Form:
    """One form. Ticked checkboxes are in `pairs`, others in `unticked`."""

    def __init__(self, action: str, method: str) -> None:
        self.action = action
        self.method = method
        self.pairs: Pairs = []
        self.unticked: Pairs = []
        self.buttons: Pairs = []

    @property
    def fields(self) -> dict[str, str]:
        return dict(self.pairs)

    def fill(self, **values: str) -> None:
        self.pairs = [(name, values.get(name, value)) for name, value in self.pairs]

    def tick(self, name: str, value: str) -> None:
        self.unticked.remove((name, value))
        self.pairs.append((name, value))

    def untick(self, name: str, value: str) -> None:
        self.pairs.remove((name, value))
        self.unticked.append((name, value))

    def press(self, name: str | None = None, value: str | None = None) -> Pairs:
        """The fields that the browser sends."""
        if name is None or value is None:
            return self.pairs
        assert (name, value) in self.buttons
        return [*self.pairs, (name, value)]


class _FormParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given.get("action", ""), given.get("method", "get")))
        elif self.forms and "name" in given and "disabled" not in given:
            if tag == "button":
                self.forms[-1].buttons.append((given["name"], given.get("value", "")))
            elif tag == "input":
                is_sent = given.get("type") != "checkbox" or "checked" in given
                (self.forms[-1].pairs if is_sent else self.forms[-1].unticked).append((given["name"], given.get("value", "")))


def forms_of(page: str) -> list[Form]:
    parser = _FormParser()
    parser.feed(page)
    return parser.forms


def the_form(page: str, action: str) -> Form:
    (form,) = [form for form in forms_of(page) if form.action == action]
    return form


def passkey_options(page: str, action: str) -> dict[str, Any]:
    """The options that the script of the page passes to the browser, in the form to `action`."""
    found = re.search(rf'action="{re.escape(action)}" data-passkey="\w+" data-options="([^"]*)"', page)
    assert found, page
    options: dict[str, Any] = json.loads(html.unescape(found[1]))
    return options
