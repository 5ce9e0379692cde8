"""The page on which an owner manages the people of a home (Decision 0059).

The owner sees the people, invites people, and changes or ends their access.
"""

import math

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.browser import LONGEST_EMAIL, Form
from domogate.auth.pages.context import ACCOUNT_PATH
from domogate.auth.pages.guest_links import describe_link
from domogate.auth.pages.language import Language
from domogate.auth.pages.limits_form import (
    WrongLimits,
    describe_limits,
    fill_form,
    list_places,
    print_zone,
    read_limits,
)
from domogate.auth.pages.logged_in import FormRefused, Visit
from domogate.auth.pages.owner_pages import PEOPLE_PATH, OwnerPages, done_at, path_of
from domogate.auth.redirects import see_other
from domogate.auth.routing import route_by_method
from domogate.common.times import find_time_zone
from domogate.domain.formats import email_key
from domogate.domain.plants import Invitation, Member, Plant, Topology
from domogate.ports import StoredPlant
from domogate.services.people import InvitedAs, TooOften
from domogate.services.refusals import Conflict, Forbidden, Invalid, MailFailed, Refused

LIMITS_PATH = f"{PEOPLE_PATH}/limits"
NOTICES = frozenset(("member", "mailed", "invited", "unsent", "changed", "withdrawn", "link_withdrawn"))


class PersonRow(msgspec.Struct, frozen=True):
    """An allowed user, or an invited person (`waits` is true). `limits` is empty if the whole home may be used at any time."""

    email: str
    waits: bool
    limits: str


class PeoplePages(OwnerPages):
    """The pages at /auth/account/plants/people. An owner uses them to invite people to a home, and to limit or end access."""

    def routes(self) -> list[Route]:
        return [
            route_by_method(PEOPLE_PATH, get=self.shown(self.show), post=self.posted(self.invite)),
            route_by_method(LIMITS_PATH, get=self.shown(self.show_limits), post=self.posted(self.change_limits)),
            self.action(f"{PEOPLE_PATH}/withdraw", self.withdraw),
        ]

    async def show(self, visit: Visit, _refused: FormRefused | None) -> Response:
        plant = await self._find_own(visit)
        return see_other(ACCOUNT_PATH) if plant is None else await self._page(visit, plant)

    async def invite(self, visit: Visit) -> Response:
        plant = await self._find_posted(visit)
        zone = find_time_zone(plant.plant.time_zone)
        try:
            outcome = await self._context.people.invite_by_owner(
                plant.plant.id,
                visit.form.get("email")[:LONGEST_EMAIL].strip(),
                read_limits(visit.form, list_places(plant.topology), self._context.clock.now(), zone),
                mails_links=self._context.mails_links,
                address=visit.address,
                user_id=visit.user.id,
            )
        except MailFailed:
            return done_at(plant, "unsent")
        except WrongLimits as wrong:
            refused = FormRefused(400, wrong.problems)
        except TooOften as often:
            refused = FormRefused(429, wait=math.ceil(often.wait))
        except Invalid:
            refused = FormRefused(400, {"email": "guests.problem_email"})
        except Conflict:
            refused = FormRefused(409, {"email": "guests.problem_already"})
        except Forbidden:
            refused = FormRefused(403, {"email": "guests.problem_many"})
        else:
            if outcome is InvitedAs.MEMBER:
                return done_at(plant, "member")
            return done_at(plant, "mailed" if self._context.mails_links else "invited")
        return await self._page(visit, plant, refused)

    async def show_limits(self, visit: Visit, _refused: FormRefused | None) -> Response:
        plant = await self._find_own(visit)
        if plant is None:
            return see_other(ACCOUNT_PATH)
        guest = _find_in(plant.plant, visit.get("email"))
        if guest is None:
            return see_other(path_of(plant))
        return self._limits_page(visit, plant, guest, fill_form(guest.limits, find_time_zone(plant.plant.time_zone)))

    async def change_limits(self, visit: Visit) -> Response:
        plant = await self._find_posted(visit)
        guest = _find_in(plant.plant, visit.form.get("email"))
        if guest is None:
            return see_other(path_of(plant))  # The person left at the same time: show the current state.
        places, now = list_places(plant.topology, guest.limits), self._context.clock.now()
        try:
            limits = read_limits(visit.form, places, now, find_time_zone(plant.plant.time_zone), guest.limits)
            await self._context.people.limit_by_owner(
                plant.plant.id, guest.email, limits, address=visit.address, user_id=visit.user.id
            )
        except WrongLimits as wrong:
            return self._limits_page(visit, plant, guest, visit.form, FormRefused(400, wrong.problems))
        except TooOften as often:
            return self._limits_page(visit, plant, guest, visit.form, FormRefused(429, wait=math.ceil(often.wait)))
        except Refused:
            return see_other(path_of(plant))
        return done_at(plant, "changed")

    async def withdraw(self, visit: Visit) -> Response:
        plant = await self._find_posted(visit)
        try:
            await self._context.people.withdraw_by_owner(
                plant.plant.id, visit.form.get("email"), address=visit.address, user_id=visit.user.id
            )
        except Refused:
            return see_other(path_of(plant))  # The person left at the same time: show the current state.
        return done_at(plant, "withdrawn")

    async def _page(self, visit: Visit, stored: StoredPlant, refused: FormRefused | None = None) -> Response:
        language, plant = self._language_of(visit), stored.plant
        links = await self._context.people.list_own_invitation_links(plant.id, user_id=visit.user.id)
        return self._render(
            visit,
            "people.html",
            refused,
            language=language,
            plant=plant,
            people=_rows(language, plant, stored.topology),
            links=[describe_link(language, link, stored) for link in links],
            places=list_places(stored.topology),
            sent=visit.form,
            notice=visit.notice_of(NOTICES),
            zone=print_zone(plant, self._context.clock.now()),
        )

    def _limits_page(
        self, visit: Visit, stored: StoredPlant, guest: Member | Invitation, sent: Form, refused: FormRefused | None = None
    ) -> Response:
        return self._render(
            visit,
            "limits.html",
            refused,
            plant=stored.plant,
            guest=guest,
            back=path_of(stored),
            places=list_places(stored.topology, guest.limits),
            sent=sent,
            zone=print_zone(stored.plant, self._context.clock.now()),
        )


def _rows(language: Language, plant: Plant, topology: Topology) -> list[PersonRow]:
    zone = find_time_zone(plant.time_zone)
    people: list[Member | Invitation] = [*plant.allowed, *plant.invited]
    return [
        PersonRow(one.email, isinstance(one, Invitation), describe_limits(language, one.limits, topology, zone))
        for one in people
    ]


def _find_in(plant: Plant, email: str) -> Member | Invitation | None:
    key = email_key(email[:LONGEST_EMAIL])
    people: list[Member | Invitation] = [*plant.allowed, *plant.invited]
    return next((one for one in people if email_key(one.email) == key), None)
