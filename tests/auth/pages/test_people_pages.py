"""The page on which an owner invites people to a home, with limits, and withdraws them."""

import html
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from domogate.domain.estate import EstatePlant
from domogate.domain.limits import Limits
from domogate.domain.plants import PlantStatus
from support.auth_setup import AuthSetup, PageBrowser, open_auth_setup
from support.stores import ANNA, BRUNO, CARLA, GROUND, HALL, HOUSE, KITCHEN, LAMP, SCENE, an_id

pytestmark = pytest.mark.slow

PEOPLE = "/auth/account/plants/people"
OF_HOUSE = f"{PEOPLE}?plant={HOUSE.id}"
WITHDRAW = f"{PEOPLE}/withdraw"
LIMITS = f"{PEOPLE}/limits"
OF_BRUNO = f"{LIMITS}?plant={HOUSE.id}&email={BRUNO.email}"


def local(at: float) -> str:
    """As a browser sends a date and a time."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%dT%H:%M")


def on_the_minute(at: float) -> float:
    return at // 60 * 60


async def limits_of(setup: AuthSetup, email: str) -> Limits | None:
    stored = await setup.store.find_plant(HOUSE.id)
    assert stored is not None
    people = {one.email: one.limits for one in stored.plant.allowed} | {one.email: one.limits for one in stored.plant.invited}
    return people[email]


async def emails_in(setup: AuthSetup) -> tuple[list[str], list[str]]:
    stored = await setup.store.find_plant(HOUSE.id)
    assert stored is not None
    return [one.email for one in stored.plant.allowed], [one.email for one in stored.plant.invited]


@pytest.fixture
async def mailing(tmp_path: Path) -> AsyncIterator[tuple[AuthSetup, PageBrowser]]:
    async with open_auth_setup(tmp_path, mails_links=True) as setup:
        browser = PageBrowser(setup.app(), setup.base_url)
        async with browser.http:
            yield setup, browser


class TestTheOwner:
    async def test_gets_there_from_the_account(self, browser: PageBrowser) -> None:
        await browser.log_in()
        assert OF_HOUSE in (await browser.get("/auth/account")).text
        page = (await browser.get(OF_HOUSE)).text
        assert BRUNO.email in page
        assert "Carla@Example.com" in page
        assert page.count("The whole home, at any time") == 2

    async def test_sees_the_page_in_the_language_of_the_account(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.change(ANNA, language="de")
        await browser.log_in()
        assert (await browser.get(OF_HOUSE)).headers["content-language"] == "de"

    async def test_invites_a_guest_to_a_room_for_a_period(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.store.withdraw_user(HOUSE.id, BRUNO.id)
        await browser.log_in()
        await browser.get(OF_HOUSE)
        begin, end = setup.clock.now() + 3600, setup.clock.now() + 7200
        fields = {f"ambient-{KITCHEN.id}": "yes", "begin": local(begin), "end": local(end)}
        answer = await browser.send(PEOPLE, email=BRUNO.email, **fields)
        assert answer.headers["location"] == f"{OF_HOUSE}&done=member"
        expected = Limits(ambients=(KITCHEN.id,), valid_from=on_the_minute(begin), valid_until=on_the_minute(end))
        assert await limits_of(setup, BRUNO.email) == expected
        page = (await browser.follow()).text
        assert "The person has access now." in page
        assert f"{KITCHEN.name} · from {local(begin).replace('T', ' ')} · until {local(end).replace('T', ' ')}" in page

    async def test_can_choose_floors_rooms_and_devices_without_a_room(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        page = (await browser.get(OF_HOUSE)).text
        for field in (f"floor-{GROUND.id}", f"ambient-{KITCHEN.id}", f"ambient-{HALL.id}"):
            assert f'name="{field}"' in page
        assert LAMP.id not in page
        assert SCENE.id not in page
        await browser.send(PEOPLE, email="dora@example.com", **{f"floor-{GROUND.id}": "yes", f"ambient-{HALL.id}": "yes"})
        assert await limits_of(setup, "dora@example.com") == Limits(floors=(GROUND.id,), ambients=(HALL.id,))

    async def test_without_limits_shares_the_whole_home(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.get(OF_HOUSE)
        await browser.send(PEOPLE, email="dora@example.com")
        assert await limits_of(setup, "dora@example.com") is None

    async def test_withdraws_a_member_and_an_invitation(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        invited: list[list[str]] = [["Carla@Example.com"], []]
        for left in invited:
            await browser.get(OF_HOUSE)
            answer = await browser.send(WITHDRAW)
            assert answer.headers["location"] == f"{OF_HOUSE}&done=withdrawn"
            assert await emails_in(setup) == ([], left)
        assert "Nobody else has access." in (await browser.follow()).text

    async def test_never_sees_a_link_for_the_account_of_another_person(self, browser: PageBrowser, setup: AuthSetup) -> None:
        """Otherwise the owner could take over an account that others have invited, too."""
        link = await setup.link(CARLA)
        await browser.log_in()
        await browser.get(OF_HOUSE)
        await browser.send(WITHDRAW, email=CARLA.email)
        await browser.get(OF_HOUSE)
        answer = await browser.send(PEOPLE, email=CARLA.email)
        assert answer.headers["location"] == f"{OF_HOUSE}&done=invited"
        page = (await browser.follow()).text
        assert "ask the operator" in page
        assert "token=" not in page
        assert (await browser.get(link)).status_code == 200, "the link of the operator still works"

    async def test_has_the_link_mailed_to_the_invited_person(self, mailing: tuple[AuthSetup, PageBrowser]) -> None:
        setup, browser = mailing
        await browser.log_in()
        await browser.get(OF_HOUSE)
        answer = await browser.send(PEOPLE, email="dora@example.com")
        assert answer.headers["location"] == f"{OF_HOUSE}&done=mailed"
        assert "token=" not in (await browser.follow()).text
        ((plant, email, link),) = setup.mail.sent
        assert (plant, email) == (HOUSE.name, "dora@example.com")
        assert link is not None

    async def test_is_told_if_the_mail_cannot_be_sent(self, mailing: tuple[AuthSetup, PageBrowser]) -> None:
        setup, browser = mailing
        setup.mail.failure = OSError("no route to the mail server")
        await browser.log_in()
        await browser.get(OF_HOUSE)
        answer = await browser.send(PEOPLE, email="dora@example.com")
        assert answer.headers["location"] == f"{OF_HOUSE}&done=unsent"
        assert (await emails_in(setup))[1] == ["Carla@Example.com", "dora@example.com"]

    async def test_is_in_the_audit_log(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.get(OF_HOUSE)
        await browser.send(PEOPLE, email="dora@example.com", **{f"ambient-{HALL.id}": "yes"})
        await setup.audit.flush()
        entry = next(record.entry for record in await setup.audit.list(limit=100) if record.entry.action == "invited")
        assert entry.detail == {"outcome": "invited", "limits": "yes"}


class TestLimitsInPlace:
    async def test_the_page_of_a_person_shows_the_present_limits(self, browser: PageBrowser, setup: AuthSetup) -> None:
        begin, end = setup.clock.now() + 3600, setup.clock.now() + 7200
        await setup.store.set_member_limits(HOUSE.id, BRUNO.id, Limits((GROUND.id,), valid_from=begin, valid_until=end))
        await browser.log_in()
        assert html.escape(OF_BRUNO.replace("@", "%40")) in (await browser.get(OF_HOUSE)).text
        page = (await browser.get(OF_BRUNO)).text
        assert f'name="floor-{GROUND.id}" value="yes" checked' in page
        assert f'name="ambient-{HALL.id}" value="yes">' in page
        assert f'value="{local(begin)}"' in page
        assert f'value="{local(end)}"' in page

    async def test_times_are_in_the_time_zone_of_the_home(self, browser: PageBrowser, setup: AuthSetup) -> None:
        def move(now: EstatePlant) -> EstatePlant:
            return EstatePlant(msgspec.structs.replace(now.plant, time_zone="Asia/Kolkata"), now.topology)

        await setup.store.edit_plant(HOUSE.id, move)
        end = datetime(2099, 7, 1, 8, tzinfo=UTC).timestamp()
        await setup.store.set_member_limits(HOUSE.id, BRUNO.id, Limits((GROUND.id,), valid_until=end))
        await browser.log_in()
        assert "until 2099-07-01 13:30" in (await browser.get(OF_HOUSE)).text
        page = (await browser.get(OF_BRUNO)).text
        assert 'value="2099-07-01T13:30"' in page
        assert "They are in this time zone: Asia/Kolkata." in page
        await browser.send(LIMITS, end="2099-07-02T13:30")
        assert await limits_of(setup, BRUNO.email) == Limits((GROUND.id,), valid_until=end + 86_400)

    @pytest.mark.parametrize("email", [BRUNO.email, "Carla@Example.com"])
    async def test_of_a_member_and_of_an_invited_person_are_changed(
        self, browser: PageBrowser, setup: AuthSetup, email: str
    ) -> None:
        before = await emails_in(setup)
        await browser.log_in()
        await browser.get(f"{LIMITS}?plant={HOUSE.id}&email={email}")
        end = setup.clock.now() + 7200
        answer = await browser.send(LIMITS, **{f"ambient-{KITCHEN.id}": "yes", "end": local(end)})
        assert answer.headers["location"] == f"{OF_HOUSE}&done=changed"
        assert await limits_of(setup, email) == Limits(ambients=(KITCHEN.id,), valid_until=on_the_minute(end))
        assert "The access is changed." in (await browser.follow()).text
        assert await emails_in(setup) == before
        await setup.audit.flush()
        assert "allowed" in [record.entry.action for record in await setup.audit.list(limit=100)]

    async def test_can_be_lifted(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.store.set_member_limits(HOUSE.id, BRUNO.id, Limits((GROUND.id,)))
        await browser.log_in()
        await browser.get(OF_BRUNO)
        await browser.send(LIMITS, **{f"floor-{GROUND.id}": ""})
        assert await limits_of(setup, BRUNO.email) is None

    async def test_a_form_that_is_sent_back_unchanged_changes_nothing(self, browser: PageBrowser, setup: AuthSetup) -> None:
        """Also with places that only an operator can name (a device in a room), with a deleted place, and with seconds."""
        end = on_the_minute(setup.clock.now()) + 7207
        set_by_operator = Limits((), (), (an_id(404), LAMP.id), setup.clock.now() - 11, end)
        await setup.store.set_member_limits(HOUSE.id, BRUNO.id, set_by_operator)
        await browser.log_in()
        await browser.get(OF_BRUNO)
        await browser.send(LIMITS, **{f"module-{one}": "yes" for one in set_by_operator.modules})
        kept = await limits_of(setup, BRUNO.email)
        assert kept is not None
        assert (set(kept.modules), kept.valid_from, kept.valid_until) == (
            {an_id(404), LAMP.id},
            set_by_operator.valid_from,
            end,
        )

    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            ({"end": "2001-01-01T00:00"}, "The end must be in the future"),
            ({"begin": "tomorrow"}, "This is not a date and a time."),
        ],
    )
    async def test_a_wrong_period_shows_the_form_again(
        self, browser: PageBrowser, setup: AuthSetup, fields: dict[str, str], text: str
    ) -> None:
        await browser.log_in()
        await browser.get(OF_BRUNO)
        answer = await browser.send(LIMITS, **fields, **{f"ambient-{HALL.id}": "yes"})
        assert answer.status_code == 400
        assert text in html.unescape(answer.text)
        assert f'name="ambient-{HALL.id}" value="yes" checked' in answer.text
        assert await limits_of(setup, BRUNO.email) is None

    async def test_a_person_who_has_left_is_not_there(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.get(OF_BRUNO)
        await setup.store.withdraw_user(HOUSE.id, BRUNO.id)
        assert (await browser.send(LIMITS)).headers["location"] == OF_HOUSE
        assert (await browser.get(OF_BRUNO)).headers["location"] == OF_HOUSE
        assert (await browser.get(f"{LIMITS}?plant={HOUSE.id}&email={ANNA.email}")).headers["location"] == OF_HOUSE

    async def test_many_changes_have_to_wait(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.get(OF_BRUNO)
        for _ in range(100):
            assert (await browser.send(LIMITS, **{f"ambient-{HALL.id}": "yes"})).status_code == 303
            await browser.get(OF_BRUNO)
        answer = await browser.send(LIMITS)
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) > 0
        assert await limits_of(setup, BRUNO.email) is not None


class TestRefusals:
    @pytest.mark.parametrize(
        ("fields", "status", "text"),
        [
            ({"email": "no address"}, 400, "This is not an e-mail address."),
            ({"email": BRUNO.email}, 409, "This person has access or is invited already."),
            ({"email": "d@example.com", "end": "2001-01-01T00:00"}, 400, "The end must be in the future"),
            ({"email": "d@example.com", "begin": "2099-02-01T00:00", "end": "2099-01-01T00:00"}, 400, "The end must be"),
            ({"email": "d@example.com", "begin": "tomorrow"}, 400, "This is not a date and a time."),
            ({"email": "d@example.com", "end": "9999-99-99T99:99"}, 400, "This is not a date and a time."),
        ],
    )
    async def test_show_the_form_again(
        self, browser: PageBrowser, setup: AuthSetup, fields: dict[str, str], status: int, text: str
    ) -> None:
        before = await emails_in(setup)
        await browser.log_in()
        await browser.get(OF_HOUSE)
        answer = await browser.send(PEOPLE, **fields, **{f"ambient-{HALL.id}": "yes"})
        assert answer.status_code == status
        assert text in html.unescape(answer.text)
        assert f'name="ambient-{HALL.id}" value="yes" checked' in answer.text
        assert await emails_in(setup) == before

    async def test_many_invitations_have_to_wait(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await browser.log_in()
        await browser.get(OF_HOUSE)
        for number in range(20):
            await browser.send(PEOPLE, email=f"guest{number}@example.com")
            await browser.follow()
        answer = await browser.send(PEOPLE, email="one.more@example.com")
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) > 0
        setup.clock.at += 3600
        assert (await browser.send(PEOPLE, email="one.more@example.com")).status_code == 303

    @pytest.mark.parametrize("path", [PEOPLE, WITHDRAW, LIMITS])
    async def test_a_form_of_another_site_does_nothing(self, browser: PageBrowser, setup: AuthSetup, path: str) -> None:
        before = await emails_in(setup)
        await browser.log_in()
        email = "eve@example.com" if path == PEOPLE else BRUNO.email
        fields = {"plant": HOUSE.id, "email": email, "csrf": "wrong", f"ambient-{HALL.id}": "yes"}
        answer = await browser.http.post(path, data=fields)
        assert answer.headers["location"] == "/auth/account?done=stale"
        assert await emails_in(setup) == before
        assert await limits_of(setup, BRUNO.email) is None

    async def test_only_the_owner_sees_and_changes_the_people(self, browser: PageBrowser, setup: AuthSetup) -> None:
        """Bruno is a member and becomes an operator. Operators use other tools."""
        for operator in (False, True):
            await setup.change(BRUNO, operator=operator)
            before = await emails_in(setup)
            await browser.log_in(BRUNO.email)
            assert (await browser.get(OF_HOUSE)).headers["location"] == "/auth/account"
            await browser.get("/auth/account/password")
            page = browser.answer.text
            token = page.split('name="csrf" value="')[1].split('"')[0]
            assert (await browser.get(OF_BRUNO)).headers["location"] == "/auth/account"
            for path, email in ((PEOPLE, "eve@example.com"), (WITHDRAW, "Carla@Example.com"), (LIMITS, "Carla@Example.com")):
                fields = {"plant": HOUSE.id, "email": email, "csrf": token, f"ambient-{HALL.id}": "yes"}
                answer = await browser.http.post(path, data=fields)
                assert answer.headers["location"] == "/auth/account?done=stale"
            assert await emails_in(setup) == before
            assert await limits_of(setup, "Carla@Example.com") is None
            browser.http.cookies.clear()

    async def test_nobody_is_invited_to_a_removed_home(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, setup.clock.now())
        await browser.log_in()
        assert (await browser.get(OF_HOUSE)).headers["location"] == "/auth/account"

    @pytest.mark.parametrize("plant", ["", "x", "00000000-0000-4000-8000-000000000404"])
    async def test_an_unknown_home_leads_to_the_account(self, browser: PageBrowser, plant: str) -> None:
        await browser.log_in()
        assert (await browser.get(f"{PEOPLE}?plant={plant}")).headers["location"] == "/auth/account"

    async def test_without_a_login_the_page_asks_for_one(self, browser: PageBrowser) -> None:
        assert (await browser.get(OF_HOUSE)).headers["location"].startswith("/auth/login")
        answer = await browser.http.post(PEOPLE, data={"plant": HOUSE.id, "email": ANNA.email})
        assert answer.headers["location"] == "/auth/login?return_to=%2Fauth%2Faccount"
