"""Actions that an owner cannot do with the forms that invite people and change their limits."""

import asyncio

import msgspec
import pytest

from domogate.domain.estate import EstatePlant
from domogate.domain.limits import Limits
from domogate.domain.plants import Ambient, Plant
from domogate.services.people.guests import MOST_PLACES
from support.auth_setup import AuthSetup, PageBrowser
from support.stores import ANNA, BRUNO, GROUND, HOUSE, an_id

pytestmark = pytest.mark.slow

PEOPLE = "/auth/account/plants/people"
OF_HOUSE = f"{PEOPLE}?plant={HOUSE.id}"


async def find_house(setup: AuthSetup) -> Plant:
    stored = await setup.store.find_plant(HOUSE.id)
    assert stored is not None
    return stored.plant


@pytest.mark.parametrize("kind", ["floor", "ambient", "module"])
@pytest.mark.parametrize(
    ("path", "email"), [(PEOPLE, "dora@example.com"), (f"{PEOPLE}/limits", BRUNO.email), (f"{PEOPLE}/link", "")]
)
async def test_a_deleted_place_does_not_share_the_whole_home(
    browser: PageBrowser, setup: AuthSetup, path: str, email: str, kind: str
) -> None:
    await setup.store.set_member_limits(HOUSE.id, BRUNO.id, Limits((GROUND.id,)))
    before = await find_house(setup)
    await browser.log_in()
    await browser.get(f"{path}?plant={HOUSE.id}&email={email}")
    answer = await browser.send(path, email=email, **{f"floor-{GROUND.id}": "", f"{kind}-{an_id(404)}": "yes"})
    assert (answer.status_code, "does not exist any more" in answer.text) == (400, True)
    assert await find_house(setup) == before
    assert await setup.people.list_own_invitation_links(HOUSE.id, user_id=ANNA.id) == []


async def add_rooms(setup: AuthSetup, number: int) -> list[Ambient]:
    """Add rooms to the home: a hotel has many."""
    rooms = [Ambient(an_id(10_000 + one), an_id(20_000 + one), f"Room {one}") for one in range(number)]

    def build(now: EstatePlant) -> EstatePlant:
        topology = msgspec.structs.replace(now.topology, ambients=(*now.topology.ambients, *rooms))
        return EstatePlant(now.plant, topology)

    await setup.store.edit_plant(HOUSE.id, build)
    return rooms


async def test_a_guest_gets_as_many_rooms_as_limits_can_have(browser: PageBrowser, setup: AuthSetup) -> None:
    rooms = await add_rooms(setup, MOST_PLACES)
    await browser.log_in()
    await browser.get(OF_HOUSE)
    answer = await browser.send(PEOPLE, email="dora@example.com", **{f"ambient-{room.id}": "yes" for room in rooms})
    assert answer.status_code == 303
    invitation = next(one for one in (await find_house(setup)).invited if one.email == "dora@example.com")
    assert invitation.limits == Limits(ambients=tuple(sorted(room.id for room in rooms)))


@pytest.mark.parametrize(
    ("path", "email"), [(PEOPLE, "dora@example.com"), (f"{PEOPLE}/limits", BRUNO.email), (f"{PEOPLE}/link", "")]
)
async def test_more_rooms_are_refused_with_the_reason(browser: PageBrowser, setup: AuthSetup, path: str, email: str) -> None:
    rooms = await add_rooms(setup, MOST_PLACES + 1)
    before = await find_house(setup)
    await browser.log_in()
    await browser.get(f"{path}?plant={HOUSE.id}&email={email}")
    answer = await browser.send(path, email=email, **{f"ambient-{room.id}": "yes" for room in rooms})
    assert (answer.status_code, f"at most {MOST_PLACES} floors" in answer.text) == (400, True)
    assert await find_house(setup) == before


@pytest.mark.parametrize("time", ["0036-11-20T14:00", "1969-11-20T14:00"])
@pytest.mark.parametrize(
    ("path", "email"), [(PEOPLE, "dora@example.com"), (f"{PEOPLE}/limits", BRUNO.email), (f"{PEOPLE}/link", "")]
)
async def test_a_wrong_year_is_a_mistake_in_the_time(
    browser: PageBrowser, setup: AuthSetup, path: str, email: str, time: str
) -> None:
    before = await find_house(setup)
    await browser.log_in()
    await browser.get(f"{path}?plant={HOUSE.id}&email={email}")
    answer = await browser.send(path, email=email, begin=time)
    assert (answer.status_code, "This is not a date and a time." in answer.text) == (400, True)
    assert await find_house(setup) == before


async def test_parallel_requests_do_not_exceed_the_invitations_of_an_hour(browser: PageBrowser, setup: AuthSetup) -> None:
    await browser.log_in()
    page = (await browser.get(OF_HOUSE)).text
    csrf = page.partition('name="csrf" value="')[2].partition('"')[0]
    forms = [{"csrf": csrf, "plant": HOUSE.id, "email": f"guest{number}@example.com"} for number in range(40)]
    invited = len((await find_house(setup)).invited)
    answers = await asyncio.gather(*(browser.http.post(PEOPLE, data=form) for form in forms))
    assert sorted(answer.status_code for answer in answers) == [303] * 20 + [429] * 20
    assert len((await find_house(setup)).invited) == invited + 20
