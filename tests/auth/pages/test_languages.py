import re
import string
from importlib.resources import files

import hypothesis.strategies as st
import pytest
from hypothesis import given
from starlette.requests import Request

from domogate.auth.pages.consent import describe_scopes
from domogate.auth.pages.language import LANGUAGES, choose_language
from domogate.domain.people import KNOWN_SCOPES

ENGLISH = LANGUAGES["en"]
FOLDER = files("domogate.auth.pages")
SOURCES = "".join(
    entry.read_text()
    for folder in (FOLDER, FOLDER / "templates")
    for entry in folder.iterdir()
    if entry.name[-3:] in (".py", "tml")
)
# Texts whose keys are composed from a prefix and a variable part.
COMPOSED = re.compile(
    r"scopes\..*|consent\.(group|on_purpose|problem)_.*|plant_type\..*|(time|wait)\..*|(account|guests|passkeys)\.notice_.*|link\.(first|renew|operator|claim|used|expired|invitation)_(title|intro|about)"
).fullmatch


def asking(accept_language: str) -> Request:
    return Request({"type": "http", "headers": [(b"accept-language", accept_language.encode("latin-1", "replace"))]})


def places_in(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


class TestTexts:
    def test_there_are_four_languages(self) -> None:
        assert set(LANGUAGES) == {"en", "it", "de", "fr"}

    @pytest.mark.parametrize("code", sorted(LANGUAGES))
    def test_all_have_the_same_keys(self, code: str) -> None:
        assert set(LANGUAGES[code].texts) == set(ENGLISH.texts)

    @pytest.mark.parametrize("code", sorted(LANGUAGES))
    def test_all_have_the_same_places_to_fill_in(self, code: str) -> None:
        differing = {key for key, text in ENGLISH.texts.items() if places_in(text) != places_in(LANGUAGES[code].texts[key])} - {
            key for key in ENGLISH.texts if key.endswith(".one")
        }
        assert differing == set()

    @pytest.mark.parametrize("code", sorted(LANGUAGES))
    def test_none_is_empty_or_holds_markup(self, code: str) -> None:
        assert [key for key, text in LANGUAGES[code].texts.items() if not text.strip() or re.search(r"[<>&]", text)] == []

    @pytest.mark.parametrize("code", sorted(set(LANGUAGES) - {"en"}))
    def test_translations_are_translated(self, code: str) -> None:
        texts = LANGUAGES[code].texts
        same = {key for key, text in ENGLISH.texts.items() if len(text) > 20 and texts[key] == text}
        assert same == set()

    @pytest.mark.parametrize("scope", KNOWN_SCOPES)
    @pytest.mark.parametrize("code", sorted(LANGUAGES))
    def test_every_scope_and_its_group_are_said_in_words(self, code: str, scope: str) -> None:
        (group,) = describe_scopes(LANGUAGES[code], [scope])
        (row,) = group.rows
        assert row.scope == scope
        assert row.title
        assert row.about
        assert scope not in (row.title, row.about)
        assert LANGUAGES[code].has(f"consent.group_{group.group}")
        assert LANGUAGES[code].has(f"consent.on_purpose_{group.group}") == group.on_purpose

    def test_every_text_that_a_page_names_is_there(self) -> None:
        named = set(re.findall(r't\("([a-z_]+\.[a-z_]+)"[,)]', SOURCES)) | set(re.findall(r'"([a-z_]+\.[a-z_]+)" if ', SOURCES))
        counted = {key for key in named if key.startswith(("time.", "wait."))}
        assert len(named) > 80
        assert named - counted | {f"{key}.one" for key in counted} <= set(ENGLISH.texts)

    def test_every_text_is_named_by_a_page(self) -> None:
        unused = {key for key in ENGLISH.texts if f'"{key}"' not in SOURCES and not COMPOSED(key)}
        assert unused == set()


class TestTheChoice:
    @pytest.mark.parametrize(
        ("header", "chosen"),
        [
            ("it", "it"),
            ("de-AT,de;q=0.9,en;q=0.5", "de"),
            ("pt-BR, fr;q=0.8, en;q=0.9", "en"),
            ("en;q=0.1, fr-CH", "fr"),
            ("FR", "fr"),
            ("it;q=0, de;q=0.3", "de"),
            ("", "en"),
            ("xx, *;q=0.5", "en"),
            ("de;q=nonsense, it;q=0.2", "it"),
            (";;;,,,q=1", "en"),
        ],
    )
    def test_is_the_browsers(self, header: str, chosen: str) -> None:
        assert choose_language(asking(header)).code == chosen

    @pytest.mark.parametrize(("locales", "chosen"), [("fr-CA de", "fr"), ("xx it", "it"), ("xx", "de"), ("", "de")])
    def test_is_the_applications_before_that(self, locales: str, chosen: str) -> None:
        assert choose_language(asking("de"), locales).code == chosen

    @given(st.text(max_size=200), st.text(max_size=50))
    def test_is_always_one(self, header: str, locales: str) -> None:
        assert choose_language(asking(header), locales).code in LANGUAGES


class TestTimes:
    @pytest.mark.parametrize(
        ("seconds", "words"),
        [
            (-5, "just now"),
            (59, "just now"),
            (60, "a minute ago"),
            (3599, "59 minutes ago"),
            (3600, "an hour ago"),
            (2 * 86_400, "2 days ago"),
            (31 * 86_400, "a month ago"),
            (400 * 86_400, "13 months ago"),
        ],
    )
    def test_are_told_by_how_long_ago_they_were(self, seconds: int, words: str) -> None:
        assert ENGLISH.ago(1000.0, 1000.0 + seconds) == words

    @pytest.mark.parametrize(
        ("seconds", "words"), [(1, "one second"), (90, "90 seconds"), (121, "3 minutes"), (900, "15 minutes")]
    )
    def test_a_wait_is_never_told_too_short(self, seconds: int, words: str) -> None:
        assert ENGLISH.wait(seconds) == words
