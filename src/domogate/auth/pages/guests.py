"""The people of a home, for its owner: who has access, invitations with limits, withdrawals (Decision 0059)."""

import math
from collections.abc import Sequence
from datetime import datetime

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import LONGEST_EMAIL, Form, is_own_form, read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.pages.language import Language
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.domain.devices import DeviceKind
from domogate.domain.ids import DASHED_UUID
from domogate.domain.limits import Limits
from domogate.domain.plants import Ambient, Floor, Invitation, Member, Module, Topology
from domogate.ports import StoredPlant
from domogate.services.people import InvitedAs, LoggedIn, TooOften
from domogate.services.refusals import Conflict, Forbidden, Invalid, MailFailed, Refused
from domogate.services.rights.access import may_invite

PEOPLE_PATH = f"{ACCOUNT_PATH}/plants/people"
NOTICES = frozenset(("member", "mailed", "invited", "unsent", "withdrawn"))
_NOT_SHARED_ALONE = frozenset((DeviceKind.SCENE, DeviceKind.GATEWAY))


class PersonRow(msgspec.Struct, frozen=True):
    """A member or an invited person. `limits` is empty for the whole home at any time."""

    email: str
    waits: bool
    limits: str


class Place(msgspec.Struct, frozen=True):
    """A check box of the form."""

    field: str
    name: str
    whole_floor: bool = False


class PeoplePages:
    """/auth/account/plants/people"""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        return [
            route_by_method(PEOPLE_PATH, get=self.show, post=self.invite),
            Route(f"{PEOPLE_PATH}/withdraw", self.withdraw, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        person = await self._context.find_person(request)
        if person is None:
            return self._context.to_login(request)
        plant = await self._find_own(person, request.query_params.get("plant", ""))
        return see_other(ACCOUNT_PATH) if plant is None else self._page(request, person, plant)

    async def invite(self, request: Request) -> Response:
        form = await read_form(request)
        person, plant = await self._find_sender(request, form)
        if person is None or plant is None:
            return see_other(f"{ACCOUNT_PATH}?done=stale")
        email = form.get("email")[:LONGEST_EMAIL].strip()
        begin, end = _read_time(form.get("begin")), _read_time(form.get("end"))
        for name, at in (("begin", begin), ("end", end)):
            if form.get(name) and at is None:
                return self._page(request, person, plant, 400, form, {name: "guests.problem_time"})
        if end is not None and end <= max(begin or 0.0, self._context.clock.now()):
            return self._page(request, person, plant, 400, form, {"end": "guests.problem_period"})
        try:
            outcome = await self._context.people.invite_by_owner(
                plant.plant.id,
                email,
                _read_limits(form, plant.topology, begin, end),
                mails_links=self._context.mails_links,
                address=address_of(request),
                user_id=person.user.id,
            )
        except TooOften as often:
            return self._page(request, person, plant, 429, form, wait=math.ceil(often.wait))
        except Invalid:
            return self._page(request, person, plant, 400, form, {"email": "guests.problem_email"})
        except Conflict:
            return self._page(request, person, plant, 409, form, {"email": "guests.problem_already"})
        except Forbidden:
            return self._page(request, person, plant, 403, form, {"email": "guests.problem_many"})
        except MailFailed:
            return _done(plant, "unsent")
        if outcome is InvitedAs.MEMBER:
            return _done(plant, "member")
        return _done(plant, "mailed" if self._context.mails_links else "invited")

    async def withdraw(self, request: Request) -> Response:
        form = await read_form(request)
        person, plant = await self._find_sender(request, form)
        if person is None or plant is None:
            return see_other(f"{ACCOUNT_PATH}?done=stale")
        try:
            await self._context.people.withdraw_by_owner(
                plant.plant.id, form.get("email"), address=address_of(request), user_id=person.user.id
            )
        except Refused:
            return see_other(_path_of(plant))  # the person has just left: show the current state
        return _done(plant, "withdrawn")

    async def _find_sender(self, request: Request, form: Form) -> tuple[LoggedIn | None, StoredPlant | None]:
        """The person who sent a form of this browser, and the home that they own."""
        person = await self._context.find_person(request)
        if person is None or not is_own_form(form, person.form_token):
            return None, None
        return person, await self._find_own(person, form.get("plant"))

    async def _find_own(self, person: LoggedIn, text: str) -> StoredPlant | None:
        plant_id = DASHED_UUID.parse_id(text)
        stored = None if plant_id is None else await self._context.store.find_plant(plant_id)
        return stored if stored is not None and may_invite(person.user, stored.plant) else None

    def _page(
        self,
        request: Request,
        person: LoggedIn,
        stored: StoredPlant,
        status: int = 200,
        form: Form | None = None,
        problems: dict[str, str] | None = None,
        wait: int | None = None,
    ) -> Response:
        """`form`: what was sent, to be shown again. `problems`: the key of a text for each field that is wrong."""
        language = self._context.language_for(request)
        notice = request.query_params.get("done", "")
        plant = stored.plant
        return self._context.render(
            request,
            "people.html",
            language=language,
            person=person,
            status=status,
            wait=wait,
            plant=plant,
            people=_rows(language, (*plant.allowed, *plant.invited), stored.topology),
            places=_places(stored.topology),
            sent=form or Form(),
            problems=problems or {},
            notice=notice if notice in NOTICES else None,
            zone=_print_zone(self._context.clock.now()),
        )


def _rows(language: Language, people: Sequence[Member | Invitation], topology: Topology) -> list[PersonRow]:
    named: list[Floor | Ambient | Module] = [*topology.floors, *topology.every_ambient(), *topology.every_module()]
    names = {one.id: one.name for one in named}

    def describe(limits: Limits | None) -> str:
        if limits is None:
            return ""
        places = [names.get(place, "–") for group in limits.places for place in group]
        parts = [", ".join(dict.fromkeys(places))]
        if limits.valid_from is not None:
            parts.append(language.say("guests.from", time=_print_time(limits.valid_from)))
        if limits.valid_until is not None:
            parts.append(language.say("guests.until", time=_print_time(limits.valid_until)))
        return " · ".join(filter(None, parts))

    return [PersonRow(one.email, isinstance(one, Invitation), describe(one.limits)) for one in people]


def _places(topology: Topology) -> list[Place]:
    """Floors with their rooms, other rooms, and devices in no room."""
    found = []
    for floor in topology.floors:
        found.append(Place(f"floor-{floor.id}", floor.name, whole_floor=True))
        found += [Place(f"ambient-{ambient.id}", ambient.name) for ambient in floor.ambients]
    found += [Place(f"ambient-{ambient.id}", ambient.name) for ambient in topology.ambients]
    found += [Place(f"module-{module.id}", module.name) for module in topology.modules if module.kind not in _NOT_SHARED_ALONE]
    return found


def _read_limits(form: Form, topology: Topology, begin: float | None, end: float | None) -> Limits:
    return Limits(
        floors=tuple(floor.id for floor in topology.floors if form.get(f"floor-{floor.id}")),
        ambients=tuple(ambient.id for ambient in topology.every_ambient() if form.get(f"ambient-{ambient.id}")),
        modules=tuple(module.id for module in topology.modules if form.get(f"module-{module.id}")),
        valid_from=begin,
        valid_until=end,
    )


def _read_time(text: str) -> float | None:
    """A browser sends `2026-11-20T14:00` without a time zone: it is in the zone of the gateway, as the page says."""
    try:
        return datetime.strptime(text[:16], "%Y-%m-%dT%H:%M").astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _print_time(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def _print_zone(now: float) -> str:
    return datetime.fromtimestamp(now).astimezone().strftime("%Z")


def _path_of(plant: StoredPlant) -> str:
    return f"{PEOPLE_PATH}?plant={plant.plant.id}"


def _done(plant: StoredPlant, what: str) -> Response:
    return see_other(f"{_path_of(plant)}&done={what}")
