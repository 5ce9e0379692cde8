"""The language of mails and pages, and the name of the operator on pages."""

from pathlib import Path

import pytest

from support.auth_setup import AuthSetup, PageBrowser, heading_of, open_auth_setup
from support.stores import ANNA, CARLA

FORGOTTEN = "/auth/login/forgotten"
NEW = "three purple umbrellas"


def german(setup: AuthSetup) -> PageBrowser:
    return PageBrowser(setup.app(), setup.base_url, **{"accept-language": "de-AT"})


async def mail_language(setup: AuthSetup, browser: PageBrowser) -> str | None:
    """The language of the mail for a forgotten password of Anna."""
    setup.mail.sends = True
    browser.http.cookies.clear()
    await setup.people.issue_password_link(ANNA.id)
    return setup.mail.mails[-1].language


class TestTheLanguageOfMails:
    async def test_is_that_of_the_pages_at_the_last_login(self, setup: AuthSetup) -> None:
        browser = german(setup)
        async with browser.http:
            assert await mail_language(setup, browser) is None
            await browser.log_in()
            assert await mail_language(setup, browser) == "de"
            browser.http.headers["accept-language"] = "it"
            await browser.log_in()
            assert await mail_language(setup, browser) == "it"

    async def test_is_that_of_the_page_where_the_password_was_set(self, setup: AuthSetup) -> None:
        browser = german(setup)
        async with browser.http:
            await browser.get(await setup.link(CARLA))
            await browser.send(password=NEW, repeated=NEW)
        assert (await setup.user(CARLA)).mail_language == "de"

    async def test_is_the_one_that_the_person_chose(self, setup: AuthSetup) -> None:
        await setup.people.set_language(ANNA.id, "fr")
        browser = german(setup)
        async with browser.http:
            await browser.log_in()
            assert await mail_language(setup, browser) == "fr"

    async def test_a_failed_login_changes_nothing(self, setup: AuthSetup) -> None:
        browser = german(setup)
        async with browser.http:
            await browser.log_in(password="not it")
        assert (await setup.user(ANNA)).mail_language is None


class TestTheLanguageOfPages:
    async def test_is_the_one_that_the_person_chose_whatever_the_browser_prefers(self, setup: AuthSetup) -> None:
        await setup.people.set_language(ANNA.id, "fr")
        browser = german(setup)
        async with browser.http:
            await browser.log_in()
            page = await browser.get("/auth/account/password")
            assert page.headers["content-language"] == "fr"
            page = await browser.get("/auth/account/password?ui_locales=it")
            assert page.headers["content-language"] == "it"

    async def test_stays_the_same_after_the_logout(self, setup: AuthSetup) -> None:
        await setup.people.set_language(ANNA.id, "fr")
        browser = german(setup)
        async with browser.http:
            await browser.log_in()
            await browser.get("/auth/account")
            page = await browser.send("/auth/account/logout")
            assert page.headers["content-language"] == "fr"

    async def test_is_the_default_language_of_the_gateway_for_a_browser_without_a_known_one(self, tmp_path: Path) -> None:
        async with open_auth_setup(tmp_path, default_language="it") as setup:
            browser = PageBrowser(setup.app(), setup.base_url, **{"accept-language": "pt"})
            async with browser.http:
                assert heading_of((await browser.get("/auth/login")).text) == "Accedi"


class TestTheOperatorsName:
    @pytest.mark.parametrize("path", ["/auth/login", FORGOTTEN, "/auth/password?token=x"])
    async def test_is_on_every_page(self, tmp_path: Path, path: str) -> None:
        async with open_auth_setup(tmp_path, operator_name="Hotel <Aurora>") as setup:
            browser = PageBrowser(setup.app(), setup.base_url)
            async with browser.http:
                page = (await browser.get(path)).text
        assert "· Hotel &lt;Aurora&gt;</title>" in page
        assert "</span>Hotel &lt;Aurora&gt;</span>" in page
        assert "Domogate" not in page
