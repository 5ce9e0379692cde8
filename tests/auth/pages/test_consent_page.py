"""The page on which a person gives an application access."""

import html
import re
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from domogate.domain.plants import Member
from support.auth_setup import PASSWORD, AuthSetup, PageBrowser, heading_of, policy_of
from support.forms import forms_of
from support.stores import ANNA, BRUNO, HOUSE, add_home

pytestmark = pytest.mark.slow


class TestConsent:
    async def ask(self, browser: PageBrowser, setup: AuthSetup, **changed: str) -> str:
        await browser.log_in()
        return (await browser.get(setup.authorize_path(**changed))).text

    async def test_says_who_asks_for_what_in_words_and_for_whom(self, browser: PageBrowser, setup: AuthSetup) -> None:
        page = await self.ask(browser, setup)
        assert heading_of(page) == "Give Sunrise &lt;b&gt;lights&lt;/b&gt; access?"
        for words in ("See your lights", "Switch your plugs", "Know who you are", ANNA.email, "app.example", HOUSE.name):
            assert words in page

    async def test_every_scope_and_home_has_a_labelled_box_and_only_doors_are_not_ticked(
        self, browser: PageBrowser, setup: AuthSetup
    ) -> None:
        page = await self.ask(browser, setup, scope="openid light.read plug.write audiovideoterminal.read")
        boxes = re.findall(r'<input type="checkbox" id="([^"]+)"(?: name="(?:scope|plant)" value="([^"]+)")?( checked)?', page)
        assert [value for _, value, is_ticked in boxes if is_ticked] == [HOUSE.id, "light.read", "plug.write", ""]
        assert [value for _, value, is_ticked in boxes if not is_ticked] == ["audiovideoterminal.read"]
        assert all(f'<label for="{name}">' in page for name, _, _ in boxes)
        assert '<input type="hidden" name="scope" value="openid">' in page

    async def test_says_who_registered_the_application_by_self_service(self, browser: PageBrowser, setup: AuthSetup) -> None:
        assert "did not check it" not in await self.ask(browser, setup)
        own = msgspec.structs.replace(setup.client, id="own", name="Own <i>lights</i>")
        assert await setup.store.add_own_client(own, BRUNO.id, 5)

        async def page_of(client_id: str, language: str = "en") -> str:
            return (await browser.get(setup.authorize_path(client_id=client_id, ui_locales=language))).text

        page = await page_of(own.id)
        assert f"{BRUNO.email} registered Own &lt;i&gt;lights&lt;/i&gt;. The operator of this gateway did not check it." in page
        for language, words in (("de", "nicht geprüft"), ("fr", "n’a pas vérifié"), ("it", "non ha controllato")):
            assert words in html.unescape(await page_of(own.id, language))
        await setup.change(BRUNO, operator=True)
        assert "registered Own" not in await page_of(own.id)
        mine = msgspec.structs.replace(own, id="mine")
        assert await setup.store.add_own_client(mine, ANNA.id, 5)
        page = await page_of(mine.id)
        assert "You registered this application." in page
        assert "did not check it" not in page

    async def test_scopes_stand_in_groups(self, browser: PageBrowser, setup: AuthSetup) -> None:
        page = await self.ask(browser, setup, scope="openid scene.launch offline_access plug.write light.read")
        assert re.findall(r"<legend>(.*?)</legend>", page) == ["Homes", "See", "Switch", "Open doors", "About you"]

    async def test_a_shared_home_is_named_with_its_owner(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await add_home(setup.store, BRUNO, "<i>Lake</i>", allowed=(Member(ANNA.id, ANNA.email),))
        page = await self.ask(browser, setup)
        assert "&lt;i&gt;Lake&lt;/i&gt;" in page
        assert page.count(f"Owner: {BRUNO.email}") == 1

    async def test_choosing_some_homes_limits_the_grant(self, browser: PageBrowser, setup: AuthSetup) -> None:
        seaside = await add_home(setup.store, ANNA)
        await self.ask(browser, setup)
        answer = await browser.send("/auth/authorize", decision="allow", plant=seaside.id)
        await setup.redeem(answer.headers["location"])
        (grant,) = await setup.store.list_grants(ANNA.id)
        assert grant.plants == frozenset({seaside.id})

    async def test_without_a_home_the_page_says_what_to_do_and_keeps_the_ticks(
        self, browser: PageBrowser, setup: AuthSetup
    ) -> None:
        await self.ask(browser, setup)
        page = await browser.send("/auth/authorize", decision="allow", scope="light.read", plant=None)
        assert page.status_code == 400
        assert "Error: Give" in page.text
        assert '<a href="#plant-1">Tick at least one home, or choose “Do not allow”.</a>' in page.text
        form = forms_of(page.text)[0]
        assert ("scope", "light.read") in form.pairs
        assert {("scope", "plug.write"), ("plant", str(HOUSE.id))} == set(form.unticked)
        answer = await browser.send("/auth/authorize", decision="allow", plant=HOUSE.id)
        assert "code" in parse_qs(urlsplit(answer.headers["location"]).query)

    async def test_a_person_without_homes_is_told_so(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.store.withdraw_user(HOUSE.id, BRUNO.id)
        await browser.log_in(BRUNO.email)
        page = await browser.get(setup.authorize_path())
        assert "You have no homes yet." in page.text
        answer = await browser.send("/auth/authorize", decision="allow")
        assert "code" in parse_qs(urlsplit(answer.headers["location"]).query)

    async def test_very_many_homes_are_not_listed(
        self, browser: PageBrowser, setup: AuthSetup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("domogate.services.authorization.consents.MOST_CHOSEN", 1)
        await add_home(setup.store, ANNA)
        page = await self.ask(browser, setup)
        assert "All your homes (2), also homes that you get later." in page
        assert HOUSE.name not in page

    async def test_allowing_fewer_grants_fewer(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await self.ask(browser, setup)
        answer = await browser.send("/auth/authorize", decision="allow", scope="light.read")
        back = urlsplit(answer.headers["location"])
        assert (back.netloc, "code" in parse_qs(back.query)) == ("app.example", True)
        await setup.redeem(answer.headers["location"])
        (grant,) = await setup.store.list_grants(ANNA.id)
        assert set(grant.scopes) == {"openid", "light.read"}

    async def test_a_form_of_another_site_grants_nothing(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await self.ask(browser, setup)
        answer = await browser.send("/auth/authorize", decision="allow", csrf="wrong")
        assert "app.example/back?code" not in answer.headers.get("location", "")
        assert await setup.store.list_grants(ANNA.id) == []

    async def test_a_form_shown_to_one_person_does_not_count_for_the_next(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await self.ask(browser, setup)
        shown = browser.answer
        await browser.log_in(BRUNO.email, return_to="/auth/account")
        browser.answer = shown
        await browser.send("/auth/authorize", decision="allow")
        assert await setup.store.list_grants(BRUNO.id) == []

    async def test_somebody_else_can_log_in_and_comes_back_to_the_question(
        self, browser: PageBrowser, setup: AuthSetup
    ) -> None:
        page = await self.ask(browser, setup)
        link = re.search(r'<a href="([^"]+)">Not you\?', page)
        assert link
        await browser.get(html.unescape(link[1]))
        await browser.send(email=BRUNO.email, password=PASSWORD)
        page = (await browser.follow()).text
        assert f"Logged in as {BRUNO.email}" in page

    async def test_speaks_the_language_the_application_asks_for(self, browser: PageBrowser, setup: AuthSetup) -> None:
        page = await self.ask(browser, setup, ui_locales="de fr")
        assert '<html lang="de">' in page
        assert "Ihre Lichter sehen" in page

    async def test_the_login_before_it_speaks_it_too(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.get(setup.authorize_path(ui_locales="it"))
        assert '<html lang="it">' in (await browser.follow()).text

    async def test_forms_may_end_up_at_the_application_and_nowhere_else(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await self.ask(browser, setup)
        assert policy_of(browser)["form-action"] == "'self' https://app.example"

    async def test_forms_of_the_login_on_the_way_there_as_well(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.get(setup.authorize_path())
        await browser.follow()
        assert policy_of(browser)["form-action"] == "'self' https://app.example"

    @pytest.mark.parametrize(
        "return_to",
        [
            "/auth/authorize?client_id=sunrise&redirect_uri=https://evil.example/",
            "/auth/authorize?client_id=unknown&redirect_uri=https://app.example/back",
            "/auth/authorize?client_id=sunrise&redirect_uri=http://%5B",
            "/auth/account",
        ],
    )
    async def test_forms_of_a_login_for_nobody_we_know_stay_here(self, browser: PageBrowser, return_to: str) -> None:
        await browser.http.get("/auth/login")
        await browser.get(f"/auth/login?return_to={return_to.replace('&', '%26').replace('%5B', '%255B')}")
        assert policy_of(browser)["form-action"] == "'self'"
