"""People change their name, language and e-mail address, and delete their account."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from domogate.domain.authorization import LinkPurpose
from domogate.domain.people import User
from domogate.ports import MailKind
from domogate.services.people import EMAIL_LINK_PATH
from support.auth_setup import PASSWORD, AuthSetup, PageBrowser, heading_of, open_auth_setup
from support.forms import forms_of
from support.people_setup import LINK_LIFETIME
from support.stores import ANNA, BRUNO, CARLA, HOUSE

pytestmark = pytest.mark.slow

PROFILE, EMAIL, CONFIRM, DELETE = (f"/auth/account/{page}" for page in ("profile", "email", "email/confirm", "delete"))
NEW_EMAIL = "anna.rossi@example.org"


@pytest.fixture
async def mailing(tmp_path: Path) -> AsyncIterator[AuthSetup]:
    async with open_auth_setup(tmp_path, mails_links=True) as setup:
        yield setup


@pytest.fixture
async def person(mailing: AuthSetup) -> AsyncIterator[PageBrowser]:
    """Anna's browser at a gateway that mails links."""
    browser = PageBrowser(mailing.app(), mailing.base_url)
    async with browser.http:
        await browser.log_in()
        yield browser


async def ask(browser: PageBrowser, email: str = NEW_EMAIL, current: str = PASSWORD) -> str:
    await browser.get(EMAIL)
    return (await browser.send(EMAIL, email=email, current=current)).text


def mailed_path(setup: AuthSetup) -> str:
    """Path and query of the link in the last mail."""
    url = urlsplit(setup.mail.mails[-1].link)
    return f"{url.path}?{url.query}"


class TestNameAndLanguage:
    async def test_both_are_changed_and_the_next_page_is_in_that_language(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.get(PROFILE)
        await browser.send(PROFILE, name=" Anna Rossi ", language="it")
        page = (await browser.follow()).text
        assert "I tuoi dati sono salvati." in page
        assert "Anna Rossi · Italiano" in page
        user = await setup.user(ANNA)
        assert (user.name, user.language) == ("Anna Rossi", "it")

    async def test_the_name_may_be_empty_and_the_language_that_of_the_browser(
        self, browser: PageBrowser, setup: AuthSetup
    ) -> None:
        await setup.people.set_language(ANNA.id, "it")
        await browser.log_in()
        await browser.get(PROFILE)
        await browser.send(PROFILE, name="", language="")
        user = await setup.user(ANNA)
        assert (user.name, user.language) == ("", None)

    @pytest.mark.parametrize("name", ["x" * 101, "Anna\x07"])
    async def test_a_bad_name_is_refused_and_the_field_keeps_it(
        self, browser: PageBrowser, setup: AuthSetup, name: str
    ) -> None:
        await browser.log_in()
        await browser.get(PROFILE)
        answer = await browser.send(PROFILE, name=name, language="it")
        assert answer.status_code == 400
        assert "The name is too long" in answer.text
        user = await setup.user(ANNA)
        assert (user.name, user.language) == ("Anna", None)

    async def test_an_unknown_language_changes_nothing(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.get(PROFILE)
        assert (await browser.send(PROFILE, name="Other", language="xx")).status_code == 400
        assert (await setup.user(ANNA)).name == "Anna"

    @pytest.mark.parametrize("path", [PROFILE, EMAIL, DELETE])
    async def test_a_form_of_another_site_changes_nothing(self, person: PageBrowser, mailing: AuthSetup, path: str) -> None:
        before = await mailing.user(ANNA)
        fields = {"csrf": "wrong", "name": "Eve", "email": NEW_EMAIL, "current": PASSWORD}
        assert (await person.http.post(path, data=fields)).status_code == 400
        assert await mailing.user(ANNA) == before
        assert mailing.mail.mails == []

    @pytest.mark.parametrize("path", [PROFILE, EMAIL, DELETE])
    async def test_the_pages_need_a_login(self, browser: PageBrowser, path: str) -> None:
        for answer in (await browser.get(path), await browser.http.post(path, data={})):
            assert answer.headers["location"].startswith("/auth/login")


class TestANewEmail:
    async def test_it_counts_after_the_link_is_opened_and_confirmed(self, person: PageBrowser, mailing: AuthSetup) -> None:
        page = await ask(person)
        assert heading_of(page) == "Check your mailbox"
        assert mailing.mail.sent == [("email_link", NEW_EMAIL, mailing.mail.mails[0].link)]
        assert (await mailing.user(ANNA)).email == ANNA.email
        await person.get(mailed_path(mailing))
        assert (await mailing.user(ANNA)).email == ANNA.email  # Opening is not enough: mail programs open links too.
        await person.send(CONFIRM)
        assert "Your e-mail address is changed." in (await person.follow()).text
        user = await mailing.user(ANNA)
        assert (user.email, user.email_verified) == (NEW_EMAIL, True)

    async def test_the_old_address_gets_a_notice_without_the_new_one(self, person: PageBrowser, mailing: AuthSetup) -> None:
        await ask(person)
        await person.get(mailed_path(mailing))
        await person.send(CONFIRM)
        notice = mailing.mail.mails[-1]
        assert (notice.kind, notice.email, notice.link) == (MailKind.EMAIL_CHANGED, ANNA.email, "")

    async def test_the_link_works_once_and_for_a_time(self, person: PageBrowser, mailing: AuthSetup) -> None:
        await ask(person)
        path = mailed_path(mailing)
        await person.get(path)
        await person.send(CONFIRM)
        assert (await person.get(path)).status_code == 410
        await ask(person, "again@example.org")
        path = mailed_path(mailing)
        mailing.clock.at += LINK_LIFETIME
        assert heading_of((await person.get(path)).text) == "This link is too old"
        assert (await mailing.user(ANNA)).email == NEW_EMAIL

    async def test_a_stranger_who_gets_the_link_cannot_use_it(self, person: PageBrowser, mailing: AuthSetup) -> None:
        """The new address may be mistyped. With a confirmed address a stranger could replace the password."""
        await ask(person)
        path = mailed_path(mailing)
        stranger = PageBrowser(mailing.app(), mailing.base_url)
        async with stranger.http:
            answer = await stranger.get(path)
            assert answer.headers["location"].startswith("/auth/login?return_to=%2Fauth%2Faccount%2Femail%2Fconfirm")
            await stranger.log_in(BRUNO.email, return_to=path)
            assert (await stranger.follow()).status_code == 410
            token = path.removeprefix(EMAIL_LINK_PATH)
            csrf = forms_of((await stranger.get("/auth/account")).text)[0].fields["csrf"]
            assert (await stranger.http.post(CONFIRM, data={"csrf": csrf, "token": token})).status_code == 410
        assert (await mailing.user(ANNA)).email == ANNA.email
        assert (await mailing.user(BRUNO)).email == BRUNO.email

    async def test_after_a_login_the_link_leads_to_its_page(self, person: PageBrowser, mailing: AuthSetup) -> None:
        await ask(person)
        path = mailed_path(mailing)
        person.http.cookies.clear()
        await person.get(path)
        await person.follow()
        await person.send("/auth/login", email=ANNA.email, password=PASSWORD)
        assert heading_of((await person.follow()).text) == "Use the new e-mail?"

    async def test_the_link_sets_no_password_and_a_password_link_changes_no_address(
        self, person: PageBrowser, mailing: AuthSetup
    ) -> None:
        await ask(person)
        token = mailed_path(mailing).removeprefix(EMAIL_LINK_PATH)
        assert (await person.get(f"/auth/password?token={token}")).status_code == 410
        link = await mailing.link(ANNA, LinkPurpose.PASSWORD)
        token = link.partition("token=")[2]
        assert (await person.get(f"{EMAIL_LINK_PATH}{token}")).status_code == 410

    async def test_links_in_the_old_mailbox_end_with_the_change(self, person: PageBrowser, mailing: AuthSetup) -> None:
        await mailing.people.issue_password_link(ANNA.id)
        to_set_a_password = mailed_path(mailing)
        await ask(person)
        await person.get(mailed_path(mailing))
        await person.send(CONFIRM)
        assert (await person.get(to_set_a_password)).status_code == 410

    async def test_a_new_password_ends_the_link(self, person: PageBrowser, mailing: AuthSetup) -> None:
        await ask(person)
        await mailing.people.set_password(ANNA.id, "three purple umbrellas")
        person.http.cookies.clear()
        await person.log_in(password="three purple umbrellas")
        assert (await person.get(mailed_path(mailing))).status_code == 410

    @pytest.mark.parametrize(
        ("email", "current", "status", "words"),
        [
            (NEW_EMAIL, "not it", 403, "This is not your current password."),
            (NEW_EMAIL, "", 403, "This is not your current password."),
            ("nobody", PASSWORD, 400, "This is not an e-mail address."),
            ("x" * 300 + "@example.org", PASSWORD, 400, "This is not an e-mail address."),
            (ANNA.email, PASSWORD, 400, "You already use this address."),
        ],
    )
    async def test_a_wrong_field_is_named_and_nothing_is_mailed(
        self, person: PageBrowser, mailing: AuthSetup, email: str, current: str, status: int, words: str
    ) -> None:
        page = await ask(person, email, current)
        assert (person.answer.status_code, words in page) == (status, True)
        assert mailing.mail.mails == []

    @pytest.mark.parametrize("taken", [BRUNO, CARLA])
    async def test_an_address_of_another_account_gets_the_same_answer_and_no_mail(
        self, person: PageBrowser, mailing: AuthSetup, taken: User
    ) -> None:
        free = await ask(person)
        taken_email = taken.email.upper()
        page = await ask(person, taken_email)
        assert page.replace(taken_email, NEW_EMAIL) == free
        assert [mail.email for mail in mailing.mail.mails] == [NEW_EMAIL]

    async def test_an_address_that_was_taken_meanwhile_is_refused(self, person: PageBrowser, mailing: AuthSetup) -> None:
        await ask(person)
        await mailing.change(BRUNO, email=NEW_EMAIL)
        await person.get(mailed_path(mailing))
        answer = await person.send(CONFIRM)
        assert (answer.status_code, heading_of(answer.text)) == (409, "This address cannot be used")
        assert (await mailing.user(ANNA)).email == ANNA.email

    async def test_another_spelling_of_ones_own_address_is_possible(self, person: PageBrowser, mailing: AuthSetup) -> None:
        await ask(person, ANNA.email.upper())
        await person.get(mailed_path(mailing))
        await person.send(CONFIRM)
        assert (await mailing.user(ANNA)).email == ANNA.email.upper()

    async def test_many_requests_have_to_wait(self, person: PageBrowser, mailing: AuthSetup) -> None:
        for number in range(4):
            await ask(person, f"number{number}@example.org")
        assert (person.answer.status_code, person.answer.headers["retry-after"]) == (429, "60")
        assert len(mailing.mail.mails) == 3

    async def test_a_mail_server_that_is_down_changes_nothing(self, person: PageBrowser, mailing: AuthSetup) -> None:
        mailing.mail.failure = OSError("down")
        assert heading_of(await ask(person)) == "Check your mailbox"
        assert (await mailing.user(ANNA)).email == ANNA.email

    async def test_without_a_mail_server_the_page_says_whom_to_ask(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        page = (await browser.get(EMAIL)).text
        assert "Ask the operator of this gateway to change it." in page
        csrf = forms_of((await browser.get("/auth/account")).text)[0].fields["csrf"]
        answer = await browser.http.post(EMAIL, data={"csrf": csrf, "email": NEW_EMAIL, "current": PASSWORD})
        assert answer.status_code == 403
        assert (await setup.user(ANNA)).email == ANNA.email


@asynccontextmanager
async def brunos_browser(setup: AuthSetup) -> AsyncIterator[PageBrowser]:
    """Bruno owns no home."""
    browser = PageBrowser(setup.app(), setup.base_url)
    async with browser.http:
        await browser.log_in(BRUNO.email)
        yield browser


class TestDeletion:
    async def test_the_account_and_its_access_are_gone(self, mailing: AuthSetup) -> None:
        await mailing.grant_access(BRUNO)
        async with brunos_browser(mailing) as browser:
            page = (await browser.get(DELETE)).text
            assert "What is deleted" in page
            assert "What is kept" in page
            page = (await browser.send(DELETE, current=PASSWORD)).text
            assert heading_of(page) == "Your account is deleted"
            assert not browser.cookie
            assert (await browser.log_in(BRUNO.email)).status_code == 403
        assert await mailing.store.find_user(BRUNO.id) is None
        stored = await mailing.store.find_plant(HOUSE.id)
        assert stored is not None
        assert BRUNO.id not in {member.user_id for member in stored.plant.allowed}
        notice = mailing.mail.mails[-1]
        assert (notice.kind, notice.email) == (MailKind.ACCOUNT_DELETED, BRUNO.email)

    async def test_the_audit_log_stays_without_the_name(self, mailing: AuthSetup) -> None:
        async with brunos_browser(mailing) as browser:
            await browser.get(DELETE)
            await browser.send(DELETE, current=PASSWORD)
        assert await mailing.env.noted() == ["login", "user deleted"]
        entries = [record.entry for record in await mailing.audit.list(limit=10)]
        assert all(BRUNO.id not in str(entry) and BRUNO.email not in str(entry) for entry in entries)

    @pytest.mark.parametrize("current", ["", "not it"])
    async def test_the_password_is_needed_again(self, mailing: AuthSetup, current: str) -> None:
        async with brunos_browser(mailing) as browser:
            await browser.get(DELETE)
            assert (await browser.send(DELETE, current=current)).status_code == 403
        assert await mailing.store.find_user(BRUNO.id) is not None

    async def test_an_owner_of_homes_is_refused_and_the_page_names_them(self, person: PageBrowser, mailing: AuthSetup) -> None:
        page = (await person.get(DELETE)).text
        assert f"<li>{HOUSE.name}</li>" in page
        assert "Ask the operator of this gateway to give these homes to another person." in page
        assert DELETE not in {form.action for form in forms_of(page)}
        csrf = forms_of((await person.get("/auth/account")).text)[0].fields["csrf"]
        answer = await person.http.post(DELETE, data={"csrf": csrf, "current": PASSWORD})
        assert answer.status_code == 409
        assert await mailing.store.find_user(ANNA.id) is not None

    async def test_the_last_operator_is_refused(self, mailing: AuthSetup) -> None:
        await mailing.change(BRUNO, operator=True)
        async with brunos_browser(mailing) as browser:
            page = (await browser.get(DELETE)).text
            assert "You are the only operator of this gateway." in page
            csrf = forms_of((await browser.get("/auth/account")).text)[0].fields["csrf"]
            assert (await browser.http.post(DELETE, data={"csrf": csrf, "current": PASSWORD})).status_code == 409
            await mailing.change(ANNA, operator=True)
            await browser.get(DELETE)
            assert (await browser.send(DELETE, current=PASSWORD)).status_code == 200
        assert await mailing.store.find_user(BRUNO.id) is None
