"""An owner invites by link, and a person joins the home with an account of their own or with a new one."""

import asyncio
import html
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domogate.domain.ids import Id, new_id
from domogate.domain.invitation_links import InvitationLink
from domogate.domain.limits import Limits
from domogate.domain.login_names import email_of_login_name
from domogate.domain.plants import Member, PlantStatus
from domogate.services.refusals import Invalid, NotFound
from support.auth_setup import PASSWORD, AuthSetup, PageBrowser, heading_of, open_auth_setup
from support.stores import ANNA, BRUNO, CARLA, HOUSE, KITCHEN, LAMP

pytestmark = pytest.mark.slow

PEOPLE = f"/auth/account/plants/people?plant={HOUSE.id}"
LINK = "/auth/account/plants/people/link"
INVITATION = "/auth/invitation"
NEW_ACCOUNT = f"{INVITATION}/account"
KITCHEN_ONLY = Limits(ambients=(KITCHEN.id,))
GOOD = "twelve quiet otters"


@pytest.fixture
async def other(setup: AuthSetup) -> AsyncIterator[PageBrowser]:
    """The browser of the invited person."""
    browser = PageBrowser(setup.app(), setup.base_url)
    async with browser.http:
        yield browser


async def make_link(setup: AuthSetup, limits: Limits | None = KITCHEN_ONLY, note: str = "Emil") -> str:
    """Return the path of a new link."""
    _, url = await setup.people.make_invitation_link(HOUSE.id, note, limits, user_id=ANNA.id)
    return INVITATION + url.partition(INVITATION)[2]


async def log_in_as(browser: PageBrowser, who: str = ANNA.email, password: str = PASSWORD) -> int:
    browser.http.cookies.clear()
    return (await browser.log_in(who, password)).status_code


async def allowed_in(setup: AuthSetup) -> dict[str, Member]:
    stored = await setup.store.find_plant(HOUSE.id)
    assert stored is not None
    return {member.email: member for member in stored.plant.allowed}


async def fill_new_account(browser: PageBrowser, link: str, login_name: str = "emil.k", **changes: str) -> None:
    await browser.get(link.replace(INVITATION, NEW_ACCOUNT))
    fields = {"login_name": login_name, "name": "Emil", "password": GOOD, "repeated": GOOD, **changes}
    await browser.send(NEW_ACCOUNT, **fields)


class TestTheOwner:
    async def test_makes_a_link_sees_it_in_the_list_and_withdraws_it(
        self, browser: PageBrowser, other: PageBrowser, setup: AuthSetup
    ) -> None:
        await browser.log_in()
        await browser.get(PEOPLE)
        assert f"{LINK}?plant={HOUSE.id}" in browser.answer.text
        await browser.get(f"{LINK}?plant={HOUSE.id}")
        page = (await browser.send(LINK, note="Emil & Co", **{f"ambient-{KITCHEN.id}": "yes"})).text
        assert "Link for Emil &amp; Co" in page
        url = page.partition("<code>")[2].partition("</code>")[0]
        assert INVITATION in url
        path = INVITATION + url.partition(INVITATION)[2]
        listed = (await browser.get(PEOPLE)).text
        assert "Emil &amp; Co" in listed
        assert f"{KITCHEN.name} · Link valid until" in listed
        assert url.partition("token=")[2] not in listed
        assert (await other.get(path)).status_code == 200
        await browser.send(f"{LINK}/withdraw")
        assert browser.answer.headers["location"] == f"{PEOPLE}&done=link_withdrawn"
        assert "Emil &amp; Co" not in (await browser.follow()).text
        assert (await other.get(path)).status_code == 410

    async def test_corrects_a_wrong_period_and_a_wrong_note(self, browser: PageBrowser) -> None:
        await browser.log_in()
        await browser.get(f"{LINK}?plant={HOUSE.id}")
        answer = await browser.send(LINK, note="Emil", end="2020-01-01T10:00")
        assert (answer.status_code, "must be in the future" in answer.text) == (400, True)
        assert 'value="Emil"' in answer.text
        assert (await browser.send(LINK, note="x" * 101, end="")).status_code == 400

    async def test_gets_a_sentence_when_there_are_too_many_links(self, browser: PageBrowser, setup: AuthSetup) -> None:
        for number in range(20):
            await make_link(setup, note=f"guest {number}")
        await browser.log_in()
        await browser.get(f"{LINK}?plant={HOUSE.id}")
        answer = await browser.send(LINK)
        assert (answer.status_code, "Try again in" in answer.text) == (429, True)
        setup.clock.advance(3600)
        await log_in_as(browser)
        await browser.get(f"{LINK}?plant={HOUSE.id}")
        answer = await browser.send(LINK)
        assert (answer.status_code, "as many open links as are possible" in answer.text) == (403, True)

    async def test_a_member_has_no_such_page(self, browser: PageBrowser, setup: AuthSetup) -> None:
        link = await make_link(setup)
        (stored,) = await setup.people.list_own_invitation_links(HOUSE.id, user_id=ANNA.id)
        await browser.log_in(BRUNO.email)
        assert (await browser.get(f"{LINK}?plant={HOUSE.id}")).headers["location"] == "/auth/account"
        csrf = (await browser.get("/auth/account")).text.partition('name="csrf" value="')[2].partition('"')[0]
        for path, fields in ((LINK, {}), (f"{LINK}/withdraw", {"link": stored.id})):
            await browser.http.post(path, data={"csrf": csrf, "plant": HOUSE.id, **fields})
        assert await setup.people.list_own_invitation_links(HOUSE.id, user_id=ANNA.id) == [stored]
        assert (await browser.get(link)).status_code == 200


class TestANewAccount:
    async def test_joins_the_home_with_the_limits_of_the_link(self, browser: PageBrowser, setup: AuthSetup) -> None:
        link = await make_link(setup)
        page = html.unescape((await browser.get(link)).text)
        assert heading_of(page) == f"You are invited to {HOUSE.name}"
        assert "Anna shares this home with you." in page
        assert f"What you may use: {KITCHEN.name}" in page
        form = (await browser.get(link.replace(INVITATION, NEW_ACCOUNT))).text
        assert "Emil" not in form, "the note is only for the owner"
        await fill_new_account(browser, link)
        assert browser.answer.headers["location"] == "/auth/account"
        account = (await browser.follow()).text
        assert "Hello, Emil" in account
        assert "emil.k" in account
        assert "guest.invalid" not in account
        member = (await allowed_in(setup))["emil.k@guest.invalid"]
        assert member.limits == KITCHEN_ONLY
        user = await setup.store.find_user(member.user_id)
        assert user is not None
        assert (user.name, user.email_verified, user.operator) == ("Emil", False, False)
        assert (await browser.get(link)).status_code == 410
        assert {"invited", "user added", "allowed"} <= set(await setup.env.noted())

    async def test_logs_in_with_the_login_name_in_any_case(
        self, browser: PageBrowser, other: PageBrowser, setup: AuthSetup
    ) -> None:
        await fill_new_account(browser, await make_link(setup))
        for name in ("emil.k", " EMIL.K ", "emil.k@guest.invalid"):
            assert await log_in_as(other, name, GOOD) == 303
        assert await log_in_as(other, "emil.k", PASSWORD) == 403

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"login_name": "em"}, "not a possible login name"),
            ({"login_name": "émil"}, "not a possible login name"),
            ({"login_name": "emil@example.com"}, "not a possible login name"),
            ({"name": "x" * 101}, "The name is too long"),
            ({"password": "short", "repeated": "short"}, "too short"),
            ({"password": "emil.kolle", "repeated": "emil.kolle", "login_name": "emil.kolle"}, "or your login name"),
            ({"repeated": "other"}, "not the same"),
            ({"csrf": "forged"}, "open for too long"),
        ],
    )
    async def test_is_told_what_to_correct_and_the_link_stays_valid(
        self, browser: PageBrowser, setup: AuthSetup, wrong: dict[str, str], words: str
    ) -> None:
        link = await make_link(setup)
        await fill_new_account(browser, link, **wrong)
        assert (browser.answer.status_code, words in browser.answer.text) == (400, True)
        assert (await browser.get(link)).status_code == 200
        assert list(await allowed_in(setup)) == [BRUNO.email]

    async def test_cannot_have_a_login_name_that_is_taken_and_cannot_try_many(
        self, browser: PageBrowser, setup: AuthSetup
    ) -> None:
        await fill_new_account(browser, await make_link(setup))
        link = await make_link(setup)
        for _ in range(10):
            await fill_new_account(browser, link, "Emil.K")
            assert (browser.answer.status_code, "has this login name" in browser.answer.text) == (409, True)
        await fill_new_account(browser, link, "Emil.K")
        assert (browser.answer.status_code, browser.answer.headers["retry-after"]) == (429, "60")

    async def test_two_people_at_once_get_one_account(self, browser: PageBrowser, other: PageBrowser, setup: AuthSetup) -> None:
        link = await make_link(setup)
        await asyncio.gather(fill_new_account(browser, link, "emil"), fill_new_account(other, link, "dora"))
        statuses = sorted([browser.answer.status_code, other.answer.status_code])
        assert statuses == [303, 410]
        assert len(await allowed_in(setup)) == 2

    async def test_has_no_mailbox(self, tmp_path: Path) -> None:
        async with open_auth_setup(tmp_path, mails_links=True) as setup:
            browser = PageBrowser(setup.app(), setup.base_url)
            async with browser.http:
                await fill_new_account(browser, await make_link(setup))
                sent = len(setup.mail.sent)
                for typed in ("emil.k", "emil.k@guest.invalid", "nobody@example.com"):
                    await browser.get("/auth/login/forgotten")
                    assert heading_of((await browser.send(email=typed)).text) == "Check your mailbox"
                assert len(setup.mail.sent) == sent


class TestAnExistingAccount:
    async def test_logs_in_and_joins_with_a_button(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.store.withdraw_user(HOUSE.id, BRUNO.id)
        link = await make_link(setup)
        page = (await browser.get(link)).text
        login = html.unescape(page.partition('<a class="button" href="')[2].partition('"')[0])
        await browser.get(login)
        await browser.send("/auth/login", email=BRUNO.email, password=PASSWORD)
        assert browser.answer.headers["location"] == link
        assert f"Logged in as {BRUNO.email}" in (await browser.follow()).text
        assert await allowed_in(setup) == {}, "opening the link changes nothing"
        assert (await browser.send(INVITATION, csrf="forged")).status_code == 400
        await browser.get(link)
        await browser.send(INVITATION)
        assert browser.answer.headers["location"] == "/auth/account?done=joined"
        assert "You have access to the home now." in (await browser.follow()).text
        assert (await allowed_in(setup))[BRUNO.email].limits == KITCHEN_ONLY

    async def test_a_person_with_access_and_an_operator_read_a_clear_sentence(
        self, browser: PageBrowser, setup: AuthSetup
    ) -> None:
        link = await make_link(setup)
        for person in (ANNA, BRUNO):
            await log_in_as(browser, person.email)
            assert "You already have access to this home." in (await browser.get(link)).text
        await browser.http.post(INVITATION, data={"token": link.partition("token=")[2]})
        assert (await browser.get(link)).status_code == 200
        olga = await setup.env.add_operator()
        await setup.change(olga, password_hash=await setup.env.hasher.hash_password(PASSWORD))
        await log_in_as(browser, olga.email)
        assert "can manage this home in the console" in (await browser.get(link)).text

    async def test_reads_who_sees_what(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.store.withdraw_user(HOUSE.id, BRUNO.id)
        await setup.change(ANNA, name="")
        await browser.log_in(BRUNO.email)
        page = (await browser.get(await make_link(setup))).text
        assert "The owner of this home shares it with you." in page
        assert ANNA.email not in page
        assert "the owner of the home sees your e-mail address" in page

    async def test_that_gets_access_at_the_same_time_reads_that_it_has_access(
        self, browser: PageBrowser, setup: AuthSetup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await setup.store.withdraw_user(HOUSE.id, BRUNO.id)
        await browser.log_in(BRUNO.email)
        link = await make_link(setup)
        await browser.get(link)
        accept = setup.people.accept_invitation

        async def accept_later(token: str, user_id: Id, *, address: str) -> InvitationLink:
            await setup.store.allow_user(HOUSE.id, BRUNO.id)
            return await accept(token, user_id, address=address)

        monkeypatch.setattr(setup.people, "accept_invitation", accept_later)
        assert "You already have access to this home." in (await browser.send(INVITATION)).text
        assert (await browser.get(link)).status_code == 200

    async def test_that_is_deleted_at_the_same_time_leaves_the_link_valid(self, browser: PageBrowser, setup: AuthSetup) -> None:
        link = await make_link(setup)
        with pytest.raises(NotFound, match="account was deleted"):
            await setup.people.accept_invitation(link.partition("token=")[2], new_id())
        assert (await browser.get(link)).status_code == 200

    async def test_without_a_login_the_button_leads_to_the_login(self, browser: PageBrowser, setup: AuthSetup) -> None:
        link = await make_link(setup)
        answer = await browser.http.post(INVITATION, data={"token": link.partition("token=")[2]})
        assert answer.headers["location"].startswith("/auth/login?return_to=%2Fauth%2Finvitation")

    async def test_a_link_that_ends_meanwhile_is_explained(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.store.withdraw_user(HOUSE.id, BRUNO.id)
        await browser.log_in(BRUNO.email)
        await browser.get(await make_link(setup))
        await setup.store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, setup.clock.now())
        answer = await browser.send(INVITATION)
        assert (answer.status_code, heading_of(answer.text)) == (410, "This invitation no longer works")
        assert "Ask the person who sent you the link" in answer.text
        assert (await browser.http.post(NEW_ACCOUNT, data={"token": "unknown"})).status_code == 410
        assert (await browser.get(f"{NEW_ACCOUNT}?token=unknown")).status_code == 410


async def test_no_other_way_gives_an_account_such_an_address(browser: PageBrowser, setup: AuthSetup, tmp_path: Path) -> None:
    await setup.change(CARLA, password_hash="hash of Carla")
    reserved = email_of_login_name("carla")
    for change in (
        lambda: setup.people.create_user(reserved),
        lambda: setup.people.set_email(CARLA.id, reserved.upper()),
        lambda: setup.people.invite(HOUSE.id, reserved),
        lambda: setup.people.create_first_operator(reserved),
    ):
        with pytest.raises(Invalid, match="stands for the login name"):
            await change()
    await browser.log_in()
    await browser.get(PEOPLE)
    assert (await browser.send("/auth/account/plants/people", email=reserved)).status_code == 400


async def test_the_owner_sees_and_removes_a_person_with_a_login_name(browser: PageBrowser, setup: AuthSetup) -> None:
    await fill_new_account(browser, await make_link(setup, Limits(modules=(LAMP.id,))))
    await log_in_as(browser)
    page = (await browser.get(PEOPLE)).text
    assert "Withdraw the access of emil.k" in page
    await setup.people.withdraw_by_owner(HOUSE.id, email_of_login_name("emil.k"), user_id=ANNA.id)
    assert list(await allowed_in(setup)) == [BRUNO.email]
