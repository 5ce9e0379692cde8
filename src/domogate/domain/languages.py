"""The languages of pages and mails, as ISO 639 codes."""

from typing import Final

LANGUAGES: Final = ("de", "en", "fr", "it")
DEFAULT_LANGUAGE: Final = "en"
