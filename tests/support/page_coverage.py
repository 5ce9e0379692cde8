"""Records the templates and texts that a walk through the pages shows, and lists those that exist."""

import re
from importlib.resources import files

import pytest

from domogate.auth.pages.language import LANGUAGES, Language
from domogate.auth.pages.rendering import Renderer

_FOLDER = files("domogate.auth.pages") / "templates"
_FRAMES = ("base.html", "form_page.html", "page.html", "parts.html")
_NAMED = re.compile(r't\(\s*"([a-z_]+\.[a-z_]+)"')
_NAMED_EITHER_WAY = re.compile(r'"([a-z_]+\.[a-z_]+)" if [^%{}]*? else "([a-z_]+\.[a-z_]+)"')
_COMPOSED = re.compile(r't\("([a-z_]+\.[a-z_]*)" ~ \w+(?:\.\w+)?(?: ~ "([a-z_]*)")?')
_NOT_VISITED = frozenset(("plant_type.hotel", "plant_type.office", "plant_type.hospital"))
"""Texts that differ from a visited text by one word only."""


def all_templates() -> set[str]:
    return {entry.name for entry in _FOLDER.iterdir() if entry.name.endswith(".html")} - set(_FRAMES)


def all_texts() -> set[str]:
    """The keys in the templates, including composed ones."""
    found: set[str] = set()
    for entry in _FOLDER.iterdir():
        source = entry.read_text(encoding="utf-8")
        found.update(_NAMED.findall(source))
        found.update(key for pair in _NAMED_EITHER_WAY.findall(source) for key in pair)
        for start, end in _COMPOSED.findall(source):
            found.update(key for key in LANGUAGES["en"].texts if key.startswith(start) and key.endswith(end))
    return {key for key in found if key in LANGUAGES["en"].texts} - _NOT_VISITED


class SeenPages:
    """The templates and texts of the visited pages."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.templates: set[str] = set()
        self.texts: set[str] = set()
        self._template = ""
        self._said: set[str] = set()
        say, page = Language.say, Renderer.page

        def noting_say(language: Language, key: str, **values: object) -> str:
            self._said.add(key)
            return say(language, key, **values)

        def noting_page(renderer: Renderer, request: object, template: str, *args: object, **values: object) -> object:
            self._template, self._said = template, set()
            return page(renderer, request, template, *args, **values)  # type: ignore[arg-type]  # passed on unchanged

        monkeypatch.setattr(Language, "say", noting_say)
        monkeypatch.setattr(Renderer, "page", noting_page)

    def look(self) -> bool:
        """Record the current page. True if its template is new."""
        new = self._template not in self.templates
        self.templates.add(self._template)
        self.texts |= self._said
        return new
