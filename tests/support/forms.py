"""The forms of an HTML page, as a browser would send them."""

from html.parser import HTMLParser

Pairs = list[tuple[str, str]]


class FormReader(HTMLParser):
    """Finds the forms of a page, with what is filled in already and what can be ticked or pressed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given.get("action", ""), given.get("method", "get")))
        elif self.forms and "name" in given and "disabled" not in given:
            if tag == "input":
                self.forms[-1].add(given)
            elif tag == "button":
                self.forms[-1].buttons.append((given["name"], given.get("value", "")))


class Form:
    """One form. Boxes that are ticked are in `fields` until `untick` takes them out."""

    def __init__(self, action: str, method: str) -> None:
        self.action = action
        self.method = method
        self.fields: Pairs = []
        self.buttons: Pairs = []

    def add(self, given: dict[str, str]) -> None:
        if given.get("type") != "checkbox" or "checked" in given:
            self.fields.append((given["name"], given.get("value", "on")))

    def fill(self, **values: str) -> None:
        self.fields = [(name, values.get(name, value)) for name, value in self.fields]

    def untick(self, name: str, value: str) -> None:
        self.fields.remove((name, value))

    def press(self, name: str | None = None, value: str | None = None) -> Pairs:
        """What is sent."""
        if name is None or value is None:
            return self.fields
        assert (name, value) in self.buttons
        return [*self.fields, (name, value)]


def the_form(page: str, action: str) -> Form:
    (form,) = [form for form in FormReader(page).forms if form.action == action]
    return form
