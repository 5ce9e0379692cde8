"""Texts of the pages: one file per language in texts/, all with the same keys."""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.resources import files
from typing import Any

from starlette.requests import Request

from domogate.domain.languages import DEFAULT_LANGUAGE
from domogate.domain.languages import LANGUAGES as CODES

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_MONTH = 30 * _DAY


class Language:
    """The texts of one language by key, such as `common.cancel`."""

    def __init__(self, code: str) -> None:
        self.code = code

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """All texts. They are read when a page first needs them."""
        text = (files("domogate.auth.pages") / "texts" / f"{self.code}.toml").read_text(encoding="utf-8")
        return dict(_flatten(tomllib.loads(text)))

    def say(self, key: str, **values: object) -> str:
        return self.texts[key].format_map(values) if values else self.texts[key]

    def has(self, key: str) -> bool:
        return key in self.texts

    def count(self, key: str, number: int) -> str:
        """Return the text `key.one` for the number 1, and the text `key.other` for all other numbers.

        Our languages need no other forms for the numbers that the pages show.
        """
        return self.say(f"{key}.one" if number == 1 else f"{key}.other", number=number)

    def ago(self, at: float, now: float) -> str:
        """Return a relative time such as "5 minutes ago". The time of day is not used: the reader's time zone is not known."""
        seconds = max(0, int(now - at))
        if seconds < _MINUTE:
            return self.say("time.now")
        for unit, length, until in (("minutes", _MINUTE, _HOUR), ("hours", _HOUR, _DAY), ("days", _DAY, _MONTH)):
            if seconds < until:
                return self.count(f"time.{unit}", seconds // length)
        return self.count("time.months", seconds // _MONTH)

    def wait(self, seconds: int) -> str:
        """Return a waiting time as text: in seconds if it is shorter than two minutes, otherwise in minutes, rounded up."""
        if seconds < 2 * _MINUTE:
            return self.count("wait.seconds", seconds)
        return self.count("wait.minutes", -(-seconds // _MINUTE))


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


LANGUAGES = {code: Language(code) for code in CODES}


def choose_language(
    request: Request, ui_locales: str = "", chosen: str | None = None, default: str = DEFAULT_LANGUAGE
) -> Language:
    """Return the language of the page.

    The wish of the application counts first, then the choice of the person, then the wish of the browser.

    The application sends `ui_locales` (OpenID Connect Core §3.1.2.1), the browser sends Accept-Language (RFC 9110 §12.5.4). If
    none of these languages is one of ours, return `default`.
    """
    wanted = [*ui_locales.split(), chosen or "", *_preferences(request.headers.get("accept-language", ""))]
    for tag in wanted:
        language = LANGUAGES.get(tag.partition("-")[0].lower())
        if language is not None:
            return language
    return LANGUAGES[default]


def _preferences(header: str) -> list[str]:
    """Return the language tags of a header Accept-Language, the preferred tag first.

    Tags with weight 0 or an invalid weight are left out.
    """
    weighed = []
    for part in header[:1000].split(","):
        tag, _, weight = part.partition(";")
        try:
            quality = float(weight.strip().removeprefix("q=")) if weight.strip() else 1.0
        except ValueError:
            continue
        if 0 < quality <= 1:
            weighed.append((quality, tag.strip()))
    return [tag for _, tag in sorted(weighed, key=lambda pair: pair[0], reverse=True)]
