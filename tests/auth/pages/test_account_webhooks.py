"""People see their webhooks on the account page and can end them. A new password or a logout everywhere ends them."""

import pytest

from domogate.domain.ids import new_id
from support.auth_setup import ADDRESS, PASSWORD, AuthSetup, PageBrowser
from support.forms import forms_of
from support.stores import ANNA, BRUNO, HOUSE

pytestmark = pytest.mark.slow

END = "/auth/account/webhooks/end"
LOG_OUT = "/auth/account/sessions/end"
NEW = "three purple umbrellas"
KEEP = pytest.mark.parametrize("keep", [None, "yes"])


async def open_account(browser: PageBrowser, email: str = ANNA.email) -> str:
    await browser.log_in(email)
    return (await browser.get("/auth/account")).text


class TestOnTheAccountPage:
    async def test_each_is_shown_with_home_application_host_and_age(self, browser: PageBrowser, setup: AuthSetup) -> None:
        assert END not in await open_account(browser)
        await setup.add_webhook(ANNA)
        page = (await browser.get("/auth/account")).text
        assert page.count(END) == 1
        section = page.partition('id="webhooks"')[2].partition("</section>")[0]
        assert HOUSE.name in section
        assert "Sunrise &lt;b&gt;lights" in section
        assert "receiver.example" in section
        assert "Set up 2 hours ago" in section
        assert "a-secret-path" not in page, "it may be a secret of the application"

    async def test_one_can_be_ended_and_the_application_can_read_why(self, browser: PageBrowser, setup: AuthSetup) -> None:
        first = await setup.add_webhook(ANNA)
        other = await setup.add_webhook(ANNA, "https://other.example/")
        await open_account(browser)
        await browser.send(END, webhook_id=first.id)
        assert "No more events are sent there." in (await browser.follow()).text
        found = {it.id: it.ended_why for it in await setup.store.list_webhooks(user_id=ANNA.id)}
        assert found == {first.id: "The user ended it on the account page.", other.id: ""}
        await setup.audit.flush()
        noted = [record.entry for record in await setup.audit.list(limit=100) if record.entry.action == "webhook ended"]
        assert [entry.address for entry in noted] == [ADDRESS]

    async def test_nobody_ends_those_of_others(self, browser: PageBrowser, setup: AuthSetup) -> None:
        theirs = await setup.add_webhook(BRUNO)
        assert END not in await open_account(browser)
        token = forms_of(browser.answer.text)[0].fields["csrf"]
        for webhook_id in (theirs.id, new_id(), "", "all"):
            answer = await browser.http.post(END, data={"csrf": token, "webhook_id": webhook_id})
            assert answer.status_code == 303
        assert await setup.ended_webhooks(BRUNO) == []

    async def test_a_form_of_another_site_ends_nothing(self, browser: PageBrowser, setup: AuthSetup) -> None:
        webhook = await setup.add_webhook(ANNA)
        await browser.log_in()
        answer = await browser.http.post(END, data={"csrf": "wrong", "webhook_id": webhook.id})
        assert answer.headers["location"] == "/auth/account?done=stale"
        assert await setup.ended_webhooks(ANNA) == []


class TestThatEndWithOtherThings:
    @KEEP
    async def test_a_new_password(self, browser: PageBrowser, setup: AuthSetup, keep: str | None) -> None:
        await setup.add_webhook(ANNA)
        await setup.add_webhook(BRUNO)
        await browser.log_in()
        page = (await browser.get("/auth/account/password")).text
        assert 'name="keep_webhooks"' in page
        await browser.send(current="not it", password=NEW, repeated=NEW)
        assert await setup.ended_webhooks(ANNA) == [], "the password is not changed yet"
        await browser.send(current=PASSWORD, password=NEW, repeated=NEW, keep_webhooks=keep)
        assert browser.answer.status_code == 303
        assert await setup.ended_webhooks(ANNA) == ([] if keep else ["The user chose a new password."])
        assert await setup.ended_webhooks(BRUNO) == []

    @KEEP
    async def test_a_new_password_by_a_link(self, browser: PageBrowser, setup: AuthSetup, keep: str | None) -> None:
        await setup.add_webhook(ANNA)
        page = (await browser.get(await setup.link(ANNA))).text
        assert 'name="keep_webhooks"' in page
        await browser.send(password=NEW, repeated=NEW, keep_webhooks=keep)
        assert browser.answer.status_code == 303
        assert await setup.ended_webhooks(ANNA) == ([] if keep else ["The user chose a new password."])

    @KEEP
    async def test_a_logout_everywhere(self, browser: PageBrowser, setup: AuthSetup, keep: str | None) -> None:
        await setup.add_webhook(ANNA)
        await setup.sessions.log_in(ANNA.email, PASSWORD, None, "192.0.2.8", "x")
        await open_account(browser)
        form = next(it for it in forms_of(browser.answer.text) if it.fields.get("others"))
        assert "keep_webhooks" not in form.fields, "the box is not ticked"
        await browser.http.post(LOG_OUT, data={**form.fields, **({"keep_webhooks": keep} if keep else {})})
        assert await setup.ended_webhooks(ANNA) == ([] if keep else ["The user logged out everywhere."])

    async def test_but_not_a_logout_of_one_browser(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.add_webhook(ANNA)
        await setup.sessions.log_in(ANNA.email, PASSWORD, None, "192.0.2.8", "x")
        await open_account(browser)
        await browser.send(LOG_OUT)
        assert await setup.ended_webhooks(ANNA) == []

    async def test_the_box_is_shown_only_to_people_who_have_some(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.sessions.log_in(ANNA.email, PASSWORD, None, "192.0.2.8", "x")
        assert "keep_webhooks" not in await open_account(browser)
        assert "keep_webhooks" not in (await browser.get("/auth/account/password")).text
        assert "keep_webhooks" not in (await browser.get(await setup.link(ANNA))).text
