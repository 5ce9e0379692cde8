"""The link that a new gateway prints at its terminal."""

import pytest

from domogate.domain.people import Standing
from domogate.services.people import FIRST_OPERATOR_PATH
from support.auth_setup import AuthSetup, PageBrowser, heading_of
from support.people_setup import LINK_LIFETIME
from support.stores import CARLA

pytestmark = pytest.mark.slow

OLGA, PASSWORD, ANOTHER = "olga@example.com", "olga-opens-the-gate", "seven green umbrellas"
WELCOME, NO_LONGER, TOO_OLD = "Welcome, operator", "This link no longer works", "This link is too old"


def offer(setup: AuthSetup) -> str:
    url = setup.people.offer_first_operator().url
    assert url is not None
    assert url.startswith(f"{setup.base_url}{FIRST_OPERATOR_PATH}")
    return url


async def accept(browser: PageBrowser, email: str = OLGA, **changed: str) -> tuple[int, str]:
    """The status of the answer, and its heading or the page that it leads to."""
    answer = await browser.send(**{"email": email, "password": PASSWORD, "repeated": PASSWORD, **changed})
    return answer.status_code, answer.headers.get("location") or heading_of(answer.text)


class TestTheReaderOfTheTerminal:
    async def test_becomes_the_operator_and_is_logged_in(self, browser: PageBrowser, setup: AuthSetup) -> None:
        assert heading_of((await browser.get(offer(setup))).text) == WELCOME
        assert await accept(browser) == (303, "/auth/account")
        person = await setup.sessions.find(browser.cookie)
        assert person is not None
        assert (person.user.email, person.user.operator) == (OLGA, True)
        assert await setup.env.noted() == ["user added", "password set", "login"]
        assert len({record.entry.who for record in await setup.env.audit.list()}) == 1, "all entries are about the same person"

    async def test_somebody_with_an_account_becomes_the_operator_too(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.get(offer(setup))
        assert await accept(browser, CARLA.email.upper()) == (303, "/auth/account")
        user = await setup.user(CARLA)
        assert (user.operator, user.active) == (True, True)

    @pytest.mark.parametrize(
        ("changed", "text"),
        [
            ({"email": "olga"}, "This is not an e-mail address."),
            ({"password": "short", "repeated": "short"}, "The password is too short."),
            ({"repeated": "another one"}, "The two passwords are not the same."),
            ({"csrf": "of another site"}, "This page was open for too long."),
        ],
    )
    async def test_a_refused_value_does_not_use_up_the_link(
        self, browser: PageBrowser, setup: AuthSetup, changed: dict[str, str], text: str
    ) -> None:
        await browser.get(offer(setup))
        assert await accept(browser, **changed) == (400, WELCOME)
        assert text in browser.answer.text
        assert not any(user.operator for user in await setup.store.list_users())
        assert await accept(browser, csrf=browser.form_token) == (303, "/auth/account")

    async def test_an_expired_password_that_is_typed_again_does_not_use_up_the_link(
        self, browser: PageBrowser, setup: AuthSetup
    ) -> None:
        await setup.people.set_password(CARLA.id, PASSWORD)
        await setup.set_standing(CARLA, Standing.PASSWORD_EXPIRED)
        await browser.get(offer(setup))
        assert await accept(browser, CARLA.email) == (400, WELCOME)
        assert not (await setup.user(CARLA)).operator
        assert await accept(browser, CARLA.email, password=ANOTHER, repeated=ANOTHER) == (303, "/auth/account")
        user = await setup.user(CARLA)
        assert (user.operator, user.standing) == (True, Standing.GOOD)


class TestALinkThatDoesNotWork:
    async def test_works_once(self, browser: PageBrowser, setup: AuthSetup) -> None:
        link = offer(setup)
        await browser.get(link)
        open_form = browser.answer
        await accept(browser)
        assert heading_of((await browser.get(link)).text) == NO_LONGER
        browser.answer = open_form
        assert await accept(browser, "paul@example.com") == (410, NO_LONGER)
        assert [user.email for user in await setup.store.list_users() if user.operator] == [OLGA]

    async def test_ends_when_somebody_else_becomes_the_operator(self, browser: PageBrowser, setup: AuthSetup) -> None:
        link = offer(setup)
        await browser.get(link)
        await setup.people.create_first_operator("nina@example.com")
        assert await accept(browser) == (410, NO_LONGER)
        assert heading_of((await browser.get(link)).text) == NO_LONGER
        assert await setup.store.find_user_by_email(OLGA) is None

    async def test_ends_with_a_newer_link_and_with_time(self, browser: PageBrowser, setup: AuthSetup) -> None:
        first, second = offer(setup), offer(setup)
        assert heading_of((await browser.get(first)).text) == NO_LONGER
        await browser.get(second)
        setup.clock.at += LINK_LIFETIME
        assert await accept(browser) == (410, TOO_OLD)
        assert "domogate init" in browser.answer.text

    @pytest.mark.parametrize("token", ["", "made-up", "%00", "%ED%A0%80"])
    async def test_a_made_up_link(self, browser: PageBrowser, setup: AuthSetup, token: str) -> None:
        assert (await browser.get(f"{FIRST_OPERATOR_PATH}{token}")).status_code == 410
        offer(setup)
        assert (await browser.get(f"{FIRST_OPERATOR_PATH}{token}")).status_code == 410
