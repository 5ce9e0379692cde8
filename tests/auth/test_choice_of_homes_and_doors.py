"""The person chooses the homes that an application may use, and whether it may open doors (Decision 0079)."""

from collections.abc import Set
from typing import Any

import pytest

from domogate.domain.ids import Id
from domogate.domain.plants import Member, Plant
from domogate.services.authorization.consents import MOST_CHOSEN
from support.oauth import ALL, DESK, WEB, Browser, Provider, returned
from support.stores import add_home

pytestmark = pytest.mark.slow


class TestDoors:
    """The scopes that can open a lock are not ticked beforehand."""

    OPENING = ("audiovideoterminal.read", "scene.launch", "scene.write")

    async def test_are_not_ticked(self, browser: Browser) -> None:
        await browser.log_in()
        page = (await browser.authorize(scope=f"openid light.write {' '.join(self.OPENING)}")).json()
        assert page["ticked"] == ["openid", "light.write"]

    async def test_are_granted_only_if_the_person_ticks_them(self, browser: Browser) -> None:
        await browser.log_in()
        asked = f"openid {' '.join(self.OPENING)}"
        page = await browser.authorize(scope=asked)
        said = returned(await browser.decide(page, scopes=page.json()["ticked"]))
        assert (await browser.redeem(said["code"])).json()["scope"] == "openid"
        said = returned(await browser.decide(page, scopes=["scene.launch"]))
        assert (await browser.redeem(said["code"])).json()["scope"] == "openid scene.launch"

    async def test_are_not_ticked_though_they_were_granted_before(self, browser: Browser) -> None:
        await browser.get_tokens(scope="openid scene.launch")
        page = (await browser.authorize(scope="openid scene.launch", prompt="consent")).json()
        assert page["ticked"] == ["openid"]

    async def test_neither_is_the_scope_of_operators(self, browser: Browser, provider: Provider) -> None:
        await browser.log_in(provider.bruno)
        assert (await browser.authorize(DESK, scope="openid gateway.manage")).json()["ticked"] == ["openid"]


class TestHomes:
    async def plants_of(self, browser: Browser, tokens: dict[str, Any]) -> Set[Id] | None:
        return (await browser.provider.verifier.verify(tokens["access_token"].encode())).plants

    async def choose(self, browser: Browser, *plants: Plant, **changed: str | None) -> dict[str, Any]:
        """Log in, tick these homes, and return the tokens."""
        await browser.log_in()
        answer = await browser.decide(await browser.authorize(WEB, **changed), plants=[plant.id for plant in plants])
        tokens: dict[str, Any] = (await browser.redeem(returned(answer)["code"])).json()
        return tokens

    async def test_are_all_named_and_ticked(self, browser: Browser, provider: Provider) -> None:
        own = await add_home(provider.store, provider.anna)
        shared = await add_home(provider.store, provider.bruno, allowed=(Member(provider.anna.id, provider.anna.email),))
        await add_home(provider.store, provider.bruno, "Not hers")
        await browser.log_in()
        assert (await browser.authorize()).json()["plants"] == {own.id: True, shared.id: True}

    async def test_are_not_named_if_no_scope_is_about_them(self, browser: Browser, provider: Provider) -> None:
        await add_home(provider.store, provider.anna)
        await browser.log_in()
        assert (await browser.authorize(scope="openid email")).json()["plants"] == {}

    async def test_all_ticked_includes_homes_that_come_later(self, browser: Browser, provider: Provider) -> None:
        await add_home(provider.store, provider.anna)
        assert await self.plants_of(browser, await browser.get_tokens()) is None

    async def test_without_any_home_the_grant_is_for_homes_that_come_later(self, browser: Browser) -> None:
        assert await self.plants_of(browser, await browser.get_tokens()) is None

    async def test_only_the_ticked_ones_are_granted(self, browser: Browser, provider: Provider) -> None:
        first, second, _ = [await add_home(provider.store, provider.anna, name) for name in ("One", "Two", "Three")]
        tokens = await self.choose(browser, first, second)
        assert await self.plants_of(browser, tokens) == {first.id, second.id}
        await add_home(provider.store, provider.anna, "Later")
        assert await self.plants_of(browser, tokens) == {first.id, second.id}

    async def test_a_home_of_others_cannot_be_ticked(self, browser: Browser, provider: Provider) -> None:
        first, _ = [await add_home(provider.store, provider.anna, name) for name in ("One", "Two")]
        foreign = await add_home(provider.store, provider.bruno)
        assert await self.plants_of(browser, await self.choose(browser, first, foreign)) == {first.id}

    async def test_a_refresh_keeps_them(self, browser: Browser, provider: Provider) -> None:
        first, _ = [await add_home(provider.store, provider.anna, name) for name in ("One", "Two")]
        tokens = await self.choose(browser, first)
        for _ in range(2):
            tokens = (await browser.refresh(tokens["refresh_token"])).json()
            assert await self.plants_of(browser, tokens) == {first.id}

    async def test_at_least_one_must_be_ticked(self, browser: Browser, provider: Provider) -> None:
        first, _ = [await add_home(provider.store, provider.anna, name) for name in ("One", "Two")]
        await browser.log_in()
        page = await browser.decide(
            await browser.authorize(scope="openid light.read plug.read"), scopes=["plug.read"], plants=[]
        )
        shown = page.json()
        assert (page.status_code, shown["problem"], shown["ticked"]) == (400, "plants", ["plug.read"])
        assert not await provider.store.list_grants(provider.anna.id)
        answer = await browser.decide(page, scopes=["plug.read"], plants=[first.id])
        tokens = (await browser.redeem(returned(answer)["code"])).json()
        assert await self.plants_of(browser, tokens) == {first.id}

    async def test_none_must_be_ticked_if_no_granted_scope_is_about_them(self, browser: Browser, provider: Provider) -> None:
        await add_home(provider.store, provider.anna)
        await browser.log_in()
        answer = await browser.decide(await browser.authorize(), scopes=[], plants=[])
        assert (await browser.redeem(returned(answer)["code"])).json()["scope"] == "openid"

    async def test_the_choice_is_kept_when_the_person_is_not_asked_again(self, browser: Browser, provider: Provider) -> None:
        first, _ = [await add_home(provider.store, provider.anna, name) for name in ("One", "Two")]
        await self.choose(browser, first)
        for prompt in (None, "none"):
            said = returned(await browser.authorize(prompt=prompt))
            assert await self.plants_of(browser, (await browser.redeem(said["code"])).json()) == {first.id}

    async def test_the_newest_choice_counts(self, browser: Browser, provider: Provider) -> None:
        first, second = [await add_home(provider.store, provider.anna, name) for name in ("One", "Two")]
        await self.choose(browser, first)
        provider.clock.advance(1)
        await self.choose(browser, second, prompt="consent")
        said = returned(await browser.authorize())
        assert await self.plants_of(browser, (await browser.redeem(said["code"])).json()) == {second.id}

    async def test_more_scopes_are_asked_for_with_the_earlier_homes_ticked(self, browser: Browser, provider: Provider) -> None:
        first, second = [await add_home(provider.store, provider.anna, name) for name in ("One", "Two")]
        await self.choose(browser, first)
        page = await browser.authorize(scope="openid light.read plug.read")
        assert page.json()["plants"] == {first.id: True, second.id: False}

    async def test_a_person_with_very_many_grants_all_of_them(
        self, browser: Browser, provider: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("domogate.services.authorization.consents.MOST_CHOSEN", 1)
        first, _ = [await add_home(provider.store, provider.anna, name) for name in ("One", "Two")]
        assert await self.plants_of(browser, await self.choose(browser, first)) is None

    async def test_the_longest_list_fits_into_the_form(self, browser: Browser, provider: Provider) -> None:
        plants = [await add_home(provider.store, provider.anna, str(number)) for number in range(MOST_CHOSEN)]
        every = " ".join(("openid", "profile", "email", "offline_access", *ALL))
        assert await self.plants_of(browser, await self.choose(browser, *plants[1:], scope=every)) == {
            plant.id for plant in plants[1:]
        }
