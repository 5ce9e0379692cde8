"""Terms can be accepted only where their text is, and the accepted version is stored."""

import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from domogate.domain.people import Standing
from domogate.domain.terms import terms_at, terms_from_text
from support.auth_setup import TERMS, AuthSetup, PageBrowser, open_auth_setup
from support.forms import forms_of
from support.stores import ANNA

ACCOUNT, PATH = "/auth/account", "/auth/account/terms"


@asynccontextmanager
async def annas_browser(folder: Path, **options: Any) -> AsyncIterator[tuple[PageBrowser, AuthSetup]]:
    """Anna has to accept the terms."""
    async with open_auth_setup(folder, **options) as setup:
        await setup.set_standing(ANNA, Standing.TERMS_EXPIRED)
        browser = PageBrowser(setup.app(), setup.base_url)
        async with browser.http:
            await browser.log_in()
            yield browser, setup


class TestTheText:
    async def test_the_page_shows_it_escaped(self, tmp_path: Path) -> None:
        async with annas_browser(tmp_path) as (browser, _):
            assert f'href="{PATH}"' in (await browser.get(ACCOUNT)).text
            page = (await browser.get(PATH)).text
        assert "You use this home at your own risk." in page
        assert "&lt;b&gt;Be kind&lt;/b&gt;" in page

    async def test_the_page_links_to_terms_elsewhere(self, tmp_path: Path) -> None:
        url = "https://terms.example/2027?for=homes&lang=en#top"
        async with annas_browser(tmp_path, terms=terms_at(url)) as (browser, _):
            page = (await browser.get(PATH)).text
        links = re.findall(r'<a href="([^"]+)" target="_blank" rel="noreferrer">', page)
        assert [html.unescape(link) for link in links] == [url]

    async def test_a_gateway_without_a_text_asks_for_nothing_and_says_whom_to_ask(self, tmp_path: Path) -> None:
        async with annas_browser(tmp_path, terms=None) as (browser, setup):
            page = (await browser.get(ACCOUNT)).text
            assert "This gateway does not have the text of the terms" in page
            assert PATH not in page
            assert (await browser.get(PATH)).headers["location"] == ACCOUNT
            csrf = forms_of(page)[0].fields["csrf"]
            answer = await browser.http.post(PATH, data={"csrf": csrf, "accept": "yes", "version": TERMS.version})
            assert answer.headers["location"] == ACCOUNT
            assert (await setup.user(ANNA)).standing is Standing.TERMS_EXPIRED

    async def test_it_can_be_read_later_without_a_form(self, tmp_path: Path) -> None:
        async with annas_browser(tmp_path) as (browser, setup):
            await setup.people.accept_terms(ANNA.id, TERMS.version)
            page = (await browser.get(PATH)).text
        assert "You have accepted these terms." in page
        assert forms_of(page) == []

    async def test_it_needs_a_login(self, browser: PageBrowser) -> None:
        for answer in (await browser.get(PATH), await browser.http.post(PATH, data={})):
            assert answer.headers["location"].startswith("/auth/login")


class TestAccepting:
    async def test_it_stores_the_version_of_the_text_that_was_shown(self, tmp_path: Path) -> None:
        async with annas_browser(tmp_path) as (browser, setup):
            await browser.get(PATH)
            await browser.send(PATH, accept="yes")
            assert "The terms are accepted." in (await browser.follow()).text
            user = await setup.user(ANNA)
            assert (user.standing, user.terms_version) == (Standing.GOOD, TERMS.version)

    @pytest.mark.parametrize(
        ("changed", "status", "words"),
        [
            ({"accept": None}, 400, "Tick the box to accept the terms."),
            ({"version": terms_from_text("The former text.").version}, 409, "The terms have just changed."),
            ({"version": None}, 409, "The terms have just changed."),
            ({"csrf": "wrong"}, 400, "This page was open for too long."),
        ],
    )
    async def test_a_form_that_is_incomplete_or_of_another_text_changes_nothing(
        self, tmp_path: Path, changed: dict[str, str | None], status: int, words: str
    ) -> None:
        async with annas_browser(tmp_path) as (browser, setup):
            await browser.get(PATH)
            answer = await browser.send(PATH, **({"accept": "yes"} | changed))
            assert (answer.status_code, words in answer.text) == (status, True)
            user = await setup.user(ANNA)
            assert (user.standing, user.terms_version) == (Standing.TERMS_EXPIRED, None)
