import re

import pytest

from domogate.domain.people import Standing
from support.auth_setup import APP_NAME, PASSWORD, AuthSetup, PageBrowser, heading_of
from support.forms import forms_of
from support.stores import ANNA, BRUNO, HOUSE, add_home, an_id

pytestmark = pytest.mark.slow

REVOKE = "/auth/account/applications/revoke"
END = "/auth/account/sessions/end"
LEAVE = "/auth/account/plants/leave"
NEW = "three purple umbrellas"


async def open_account(browser: PageBrowser, email: str = ANNA.email) -> str:
    await browser.log_in(email)
    return (await browser.get("/auth/account")).text


class TestTheAccount:
    async def test_needs_a_login(self, browser: PageBrowser) -> None:
        answer = await browser.get("/auth/account")
        assert (answer.status_code, answer.headers["location"]) == (303, "/auth/login?return_to=%2Fauth%2Faccount")

    async def test_the_page_that_was_opened_is_shown_after_the_login(self, browser: PageBrowser) -> None:
        for page in (
            f"/auth/account/plants/people?plant={HOUSE.id}",
            f"/auth/account/plants/people/limits?plant={HOUSE.id}&email=bruno%2Bhome%40example.com",
            f"/auth/account/passkeys/change?passkey={an_id(1)}",
        ):
            browser.http.cookies.clear()
            await browser.get(page)
            await browser.follow()
            answer = await browser.send("/auth/login", email=ANNA.email, password=PASSWORD)
            assert answer.headers["location"] == page

    async def test_a_login_keeps_no_token_no_notice_and_no_other_address(self, browser: PageBrowser) -> None:
        query = "?token=secret&done=ended&next=https://evil.example/"
        answer = await browser.get(f"/auth/account{query}")
        assert answer.headers["location"] == "/auth/login?return_to=%2Fauth%2Faccount"
        await browser.get("/auth/account/plants/people?plant=%23//evil.example/%0D%0A%22")
        await browser.follow()
        answer = await browser.send("/auth/login", email=ANNA.email, password=PASSWORD)
        own = "/auth/account/plants/people?plant=%23%2F%2Fevil.example%2F%0D%0A%22"
        assert answer.headers["location"] == own

    async def test_shows_plants_of_ones_own_and_shared_ones_apart(self, browser: PageBrowser) -> None:
        page = await open_account(browser)
        assert HOUSE.name in page
        assert "Yours" in page
        assert "Shared with you" not in page
        browser.http.cookies.clear()
        page = await open_account(browser, BRUNO.email)
        assert "Shared with you" in page
        assert f"Owner: {ANNA.email}" in page

    async def test_shows_one_unknown_notice_less(self, browser: PageBrowser) -> None:
        await open_account(browser)
        assert 'class="notice"' in (await browser.get("/auth/account?done=ended")).text
        assert 'class="notice"' not in (await browser.get("/auth/account?done=%3Cb%3E")).text

    @pytest.mark.parametrize("path", [REVOKE, END, LEAVE, "/auth/account/logout"])
    async def test_nothing_is_done_for_a_form_of_another_site(self, browser: PageBrowser, setup: AuthSetup, path: str) -> None:
        await setup.set_standing(ANNA, Standing.TERMS_EXPIRED)
        grant = await setup.grant_access(ANNA)
        await browser.log_in()
        fields = {"client_id": setup.client.id, "others": "yes", "plant": HOUSE.id, "accept": "yes", "csrf": "wrong"}
        answer = await browser.http.post(path, data=fields)
        assert (answer.status_code, answer.headers["location"]) == (303, "/auth/account?done=stale")
        assert [it.id for it in await setup.store.list_grants(ANNA.id)] == [grant.id]
        assert (await setup.user(ANNA)).standing is Standing.TERMS_EXPIRED
        assert await setup.sessions.find(browser.cookie) is not None

    @pytest.mark.parametrize("path", [REVOKE, END, LEAVE, "/auth/account/logout"])
    async def test_without_a_login_nothing_is_done(self, browser: PageBrowser, path: str) -> None:
        answer = await browser.http.post(path, data={"csrf": ""})
        assert (answer.status_code, answer.headers["location"]) == (303, "/auth/login?return_to=%2Fauth%2Faccount")


class TestApplications:
    async def test_are_shown_once_with_all_they_may_do(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.grant_access(ANNA, "light.read")
        await setup.grant_access(ANNA, "plug.write", "light.read")
        page = await open_account(browser)
        assert page.count(REVOKE) == 1
        assert page.count("See your lights") == 1
        assert page.count("Switch your plugs") == 1
        assert "Access given 2 hours ago" in page

    async def test_a_name_is_never_markup(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.grant_access(ANNA)
        page = await open_account(browser)
        assert APP_NAME not in page
        assert "Sunrise &lt;b&gt;lights" in page

    async def test_removed_they_have_no_access_any_more(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.grant_access(ANNA, "light.read")
        await setup.grant_access(ANNA, "plug.write")
        kept = await setup.grant_access(BRUNO)
        await open_account(browser)
        await browser.send(REVOKE)
        page = (await browser.follow()).text
        assert "It has no access any more." in page
        assert REVOKE not in page
        assert await setup.store.list_grants(ANNA.id) == []
        assert [it.id for it in await setup.store.list_grants(BRUNO.id)] == [kept.id]

    async def test_without_a_client_id_no_application_is_removed(self, browser: PageBrowser, setup: AuthSetup) -> None:
        grant = await setup.grant_access(ANNA)
        await open_account(browser)
        await browser.send(REVOKE, client_id="")
        assert [it.id for it in await setup.store.list_grants(ANNA.id)] == [grant.id]

    async def test_one_without_a_name_is_shown_by_its_id(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.grant_access(ANNA, "a.scope.that.is.unknown.now")
        await setup.store.save_client(type(setup.client)(setup.client.id, ""))
        page = await open_account(browser)
        assert setup.client.id in page
        assert "a.scope" not in page

    async def test_are_shown_with_their_homes_and_groups(self, browser: PageBrowser, setup: AuthSetup) -> None:
        seaside = await add_home(setup.store, ANNA)
        await setup.grant_access(ANNA, "light.read", "light.write", "scene.launch", "openid")
        await setup.grant_access(ANNA, "plug.read", plants=frozenset({seaside.id, HOUSE.id}))
        await setup.grant_access(ANNA, "comfort.read", plants=frozenset({an_id(99)}))
        page = await open_account(browser)
        groups = re.findall(r"<dt>(.*?)</dt>", page)
        assert sorted(groups) == ["About you", "Open doors", "See", "See", "See", "Switch"]
        for words in (
            "<p>All your homes, also homes that you get later</p>",
            "<p>Homes: Casa Bianchi, Seaside</p>",
            "<p>None of your present homes</p>",
        ):
            assert page.count(words) == 1
        assert page.count("To allow something else, remove the application.") == 1

    async def test_that_only_know_the_person_name_no_homes(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.grant_access(ANNA, "openid")
        assert "All your homes" not in await open_account(browser)


class TestSessions:
    async def test_this_one_is_marked_and_cannot_be_ended_there(self, browser: PageBrowser) -> None:
        page = await open_account(browser)
        assert page.count("this browser") == 1
        assert END not in page

    async def test_another_can_be_ended(self, browser: PageBrowser, setup: AuthSetup) -> None:
        other = PageBrowser(setup.app(), setup.base_url)
        async with other.http:
            await other.log_in()
            await open_account(browser)
            await browser.send(END)
            assert "You are logged out there." in (await browser.follow()).text
            assert (await other.get("/auth/account")).status_code == 303

    async def test_all_others_can_be_ended_at_once(self, browser: PageBrowser, setup: AuthSetup) -> None:
        for _ in range(3):
            await setup.sessions.log_in(ANNA.email, PASSWORD, None, "192.0.2.8", "x")
        await open_account(browser)
        token = forms_of(browser.answer.text)[0].fields["csrf"]
        await browser.http.post(END, data={"csrf": token, "others": "yes"})
        assert len(await setup.store.list_sessions(ANNA.id)) == 1
        assert await setup.sessions.find(browser.cookie) is not None

    async def test_somebody_elses_cannot_be_ended(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.sessions.log_in(BRUNO.email, PASSWORD, None, "192.0.2.8", "x")
        (brunos,) = await setup.store.list_sessions(BRUNO.id)
        await open_account(browser)
        token = forms_of(browser.answer.text)[0].fields["csrf"]
        await browser.http.post(END, data={"csrf": token, "session_id": brunos.id})
        assert len(await setup.store.list_sessions(BRUNO.id)) == 1

    async def test_logging_out_ends_it_and_takes_the_cookie_away(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await open_account(browser)
        cookie = browser.cookie
        page = await browser.send("/auth/account/logout")
        assert heading_of(page.text) == "You are logged out"
        assert await setup.sessions.find(cookie) is None
        assert not browser.cookie


class TestPlants:
    async def test_leaving_one_is_asked_first_and_done_then(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await open_account(browser, BRUNO.email)
        page = await browser.get(f"{LEAVE}?plant={HOUSE.id}")
        assert heading_of(page.text) == f"Leave {HOUSE.name}?"
        assert (await setup.store.list_plants_of(BRUNO.id))[0] != ()
        await browser.send(LEAVE)
        assert "You have left the home." in (await browser.follow()).text
        assert (await setup.store.list_plants_of(BRUNO.id))[0] == ()

    @pytest.mark.parametrize("plant", ["", "x", HOUSE.id])
    async def test_ones_own_cannot_be_left(self, browser: PageBrowser, setup: AuthSetup, plant: str) -> None:
        await open_account(browser)
        assert (await browser.get(f"{LEAVE}?plant={plant}")).status_code == 303
        token = forms_of((await browser.get("/auth/account")).text)[0].fields["csrf"]
        await browser.http.post(LEAVE, data={"csrf": token, "plant": plant})
        assert (await setup.store.list_plants_of(ANNA.id))[0] != ()


class TestStanding:
    @pytest.mark.parametrize(
        ("standing", "password", "terms"),
        [
            (Standing.GOOD, False, False),
            (Standing.PASSWORD_EXPIRED, True, False),
            (Standing.TERMS_EXPIRED, False, True),
            (Standing.BOTH_EXPIRED, True, True),
        ],
    )
    async def test_says_what_is_due(
        self, browser: PageBrowser, setup: AuthSetup, standing: Standing, password: bool, terms: bool
    ) -> None:
        await setup.set_standing(ANNA, standing)
        page = await open_account(browser)
        assert ("You need a new password" in page) is password
        assert ("The terms of use have changed" in page) is terms

    async def test_changing_the_password_mends_the_other(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.set_standing(ANNA, Standing.BOTH_EXPIRED)
        await browser.log_in()
        await browser.get("/auth/account/password")
        await browser.send(current=PASSWORD, password=NEW, repeated=NEW)
        assert (await setup.user(ANNA)).standing is Standing.TERMS_EXPIRED
