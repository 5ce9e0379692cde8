"""Texts of the mails: one file per language in mails/, all with the same keys."""

import tomllib
from importlib.resources import files
from typing import Final

import msgspec

from domogate.domain.languages import LANGUAGES
from domogate.ports import MailKind


class MailText(msgspec.Struct, frozen=True):
    """The subject and the body of a mail. The gateway replaces the names in braces by values."""

    subject: str
    body: str


class _Count(msgspec.Struct, frozen=True):
    one: str
    other: str


class MailTexts(msgspec.Struct, frozen=True):
    """The texts of all mails in one language."""

    mails: dict[MailKind, MailText]
    lifetime: dict[str, _Count]
    by: str
    """The words that replace `{by}` in a mail. They contain the name of the person who invites, for example " by Anna"."""

    def print_lifetime(self, seconds: float) -> str:
        """Return the duration as readable text, rounded down."""
        for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
            count = int(seconds // length)
            if count >= 2:
                return self.lifetime[unit].other.format(count=count)
            if count == 1 and seconds < 1.5 * length:
                return self.lifetime[unit].one
        return self.lifetime["second"].other.format(count=int(seconds))


def _load(language: str) -> MailTexts:
    source = (files("domogate.backends") / "mails" / f"{language}.toml").read_text(encoding="utf-8")
    table = tomllib.loads(source)
    others = {key: table.pop(key) for key in ("lifetime", "by")}
    return msgspec.convert({"mails": table, **others}, MailTexts)


TEXTS: Final = {language: _load(language) for language in LANGUAGES}
