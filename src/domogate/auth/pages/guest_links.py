"""The pages on which an owner makes and withdraws invitation links (Decision 0100)."""

import math

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from domogate.auth.pages.context import ACCOUNT_PATH
from domogate.auth.pages.language import Language
from domogate.auth.pages.limits_form import WrongLimits, describe_limits, list_places, print_time, print_zone, read_limits
from domogate.auth.pages.logged_in import FormRefused, Visit
from domogate.auth.pages.owner_pages import PEOPLE_PATH, OwnerPages, done_at, path_of
from domogate.auth.redirects import see_other
from domogate.common.times import find_time_zone
from domogate.domain.formats import NAME_LENGTH
from domogate.domain.ids import DASHED_UUID, Id
from domogate.domain.invitation_links import InvitationLink
from domogate.ports import StoredPlant
from domogate.services.people import TooOften
from domogate.services.refusals import Forbidden, Invalid, Reason, Refused

LINK_PATH = f"{PEOPLE_PATH}/link"


class LinkRow(msgspec.Struct, frozen=True):
    """An invitation link that still works. `limits` is empty if the link gives access to the whole home at any time."""

    id: Id
    note: str
    limits: str
    until: str


def describe_link(language: Language, link: InvitationLink, home: StoredPlant) -> LinkRow:
    zone = find_time_zone(home.plant.time_zone)
    limits = describe_limits(language, link.limits, home.topology, zone)
    return LinkRow(link.id, link.note, limits, print_time(link.expires_at, zone))


class GuestLinkPages(OwnerPages):
    """The pages at /auth/account/plants/people/link, on which an owner makes and withdraws invitation links."""

    def routes(self) -> list[Route]:
        return [
            self.form(LINK_PATH, self.show, self.make),
            self.action(f"{LINK_PATH}/withdraw", self.withdraw),
        ]

    async def show(self, visit: Visit, refused: FormRefused | None) -> Response:
        plant = await self._find_own(visit)
        if plant is None:
            return see_other(ACCOUNT_PATH)
        return self._render(
            visit,
            "invitation_link.html",
            refused,
            plant=plant.plant,
            back=path_of(plant),
            places=list_places(plant.topology),
            sent=visit.form,
            longest=NAME_LENGTH,
            zone=print_zone(plant.plant, self._context.clock.now()),
        )

    async def make(self, visit: Visit) -> Response:
        plant = await self._find_posted(visit)
        zone = find_time_zone(plant.plant.time_zone)
        try:
            limits = read_limits(visit.form, list_places(plant.topology), self._context.clock.now(), zone)
            link, url = await self._context.people.make_invitation_link(
                plant.plant.id, visit.form.get("note").strip(), limits, address=visit.address, user_id=visit.user.id
            )
        except WrongLimits as wrong:
            raise FormRefused(400, wrong.problems) from None
        except TooOften as often:
            raise FormRefused(429, wait=math.ceil(often.wait)) from None
        except Invalid:
            raise FormRefused(400, {"note": "profile.problem_name"}) from None
        except Forbidden as forbidden:
            too_many = "guests.problem_links" if forbidden.reason is Reason.TOO_MANY_LINKS else "guests.problem_many"
            raise FormRefused(403, {"": too_many}) from None
        row = describe_link(self._language_of(visit), link, plant)
        return self._render(visit, "invitation_link_made.html", plant=plant.plant, back=path_of(plant), url=url, row=row)

    async def withdraw(self, visit: Visit) -> Response:
        plant = await self._find_posted(visit)
        link_id = DASHED_UUID.parse_id(visit.form.get("link"))
        try:
            if link_id is not None:
                await self._context.people.withdraw_own_invitation_link(
                    plant.plant.id, link_id, address=visit.address, user_id=visit.user.id
                )
        except Refused:
            return see_other(path_of(plant))  # The link was used at the same time: show the current state.
        return done_at(plant, "link_withdrawn")
