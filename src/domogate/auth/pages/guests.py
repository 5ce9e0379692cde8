"""The page on which an owner sees the people of a home, invites people, and changes or ends their access (Decision 0059)."""

import math
from collections.abc import Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.forms import address_of
from domogate.auth.pages.browser import LONGEST_EMAIL, Form, is_own_form, read_form
from domogate.auth.pages.context import ACCOUNT_PATH, PageContext
from domogate.auth.pages.language import Language
from domogate.auth.pages.limits_form import WrongPeriod, describe_limits, fill_form, list_places, print_zone, read_limits
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.domain.formats import email_key
from domogate.domain.ids import DASHED_UUID
from domogate.domain.plants import Invitation, Member, Plant, Topology
from domogate.ports import StoredPlant
from domogate.services.people import InvitedAs, LoggedIn, TooOften
from domogate.services.refusals import Conflict, Forbidden, Invalid, MailFailed, Refused
from domogate.services.rights.access import may_invite

PEOPLE_PATH = f"{ACCOUNT_PATH}/plants/people"
LIMITS_PATH = f"{PEOPLE_PATH}/limits"
NOTICES = frozenset(("member", "mailed", "invited", "unsent", "changed", "withdrawn"))


class PersonRow(msgspec.Struct, frozen=True):
    """A member or an invited person. `limits` is empty if the person may use the whole home at any time."""

    email: str
    waits: bool
    limits: str


class PeoplePages:
    """/auth/account/plants/people"""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        return [
            route_by_method(PEOPLE_PATH, get=self.show, post=self.invite),
            route_by_method(LIMITS_PATH, get=self.show_limits, post=self.change_limits),
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
        try:
            outcome = await self._context.people.invite_by_owner(
                plant.plant.id,
                email,
                read_limits(form, list_places(plant.topology), self._context.clock.now()),
                mails_links=self._context.mails_links,
                address=address_of(request),
                user_id=person.user.id,
            )
        except WrongPeriod as wrong:
            return self._page(request, person, plant, 400, form, wrong.problems)
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

    async def show_limits(self, request: Request) -> Response:
        person = await self._context.find_person(request)
        if person is None:
            return self._context.to_login(request)
        plant = await self._find_own(person, request.query_params.get("plant", ""))
        if plant is None:
            return see_other(ACCOUNT_PATH)
        guest = _find_in(plant.plant, request.query_params.get("email", ""))
        return see_other(_path_of(plant)) if guest is None else self._limits_page(request, person, plant, guest)

    async def change_limits(self, request: Request) -> Response:
        form = await read_form(request)
        person, plant = await self._find_sender(request, form)
        if person is None or plant is None:
            return see_other(f"{ACCOUNT_PATH}?done=stale")
        guest = _find_in(plant.plant, form.get("email"))
        if guest is None:
            return see_other(_path_of(plant))  # The person left at the same time: show the current state.
        try:
            limits = read_limits(form, list_places(plant.topology, guest.limits), self._context.clock.now(), guest.limits)
            await self._context.people.limit_by_owner(
                plant.plant.id, guest.email, limits, address=address_of(request), user_id=person.user.id
            )
        except WrongPeriod as wrong:
            return self._limits_page(request, person, plant, guest, 400, form, wrong.problems)
        except TooOften as often:
            return self._limits_page(request, person, plant, guest, 429, form, wait=math.ceil(often.wait))
        except Refused:
            return see_other(_path_of(plant))
        return _done(plant, "changed")

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
            return see_other(_path_of(plant))  # The person left at the same time: show the current state.
        return _done(plant, "withdrawn")

    async def _find_sender(self, request: Request, form: Form) -> tuple[LoggedIn | None, StoredPlant | None]:
        """Find the person who sent the form, and the home that this person owns. The form must come from this browser."""
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
        """`form` holds the values that were sent; they are shown again.

        `problems` has the key of a text for each wrong field.
        """
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
            places=list_places(stored.topology),
            sent=form or Form(),
            problems=problems or {},
            notice=notice if notice in NOTICES else None,
            zone=print_zone(self._context.clock.now()),
        )

    def _limits_page(
        self,
        request: Request,
        person: LoggedIn,
        stored: StoredPlant,
        guest: Member | Invitation,
        status: int = 200,
        form: Form | None = None,
        problems: dict[str, str] | None = None,
        wait: int | None = None,
    ) -> Response:
        return self._context.render(
            request,
            "limits.html",
            person=person,
            status=status,
            wait=wait,
            plant=stored.plant,
            guest=guest,
            back=_path_of(stored),
            places=list_places(stored.topology, guest.limits),
            sent=form or fill_form(guest.limits),
            problems=problems or {},
            zone=print_zone(self._context.clock.now()),
        )


def _rows(language: Language, people: Sequence[Member | Invitation], topology: Topology) -> list[PersonRow]:
    return [
        PersonRow(one.email, isinstance(one, Invitation), describe_limits(language, one.limits, topology)) for one in people
    ]


def _find_in(plant: Plant, email: str) -> Member | Invitation | None:
    key = email_key(email[:LONGEST_EMAIL])
    people: list[Member | Invitation] = [*plant.allowed, *plant.invited]
    return next((one for one in people if email_key(one.email) == key), None)


def _path_of(plant: StoredPlant) -> str:
    return f"{PEOPLE_PATH}?plant={plant.plant.id}"


def _done(plant: StoredPlant, what: str) -> Response:
    return see_other(f"{_path_of(plant)}&done={what}")
