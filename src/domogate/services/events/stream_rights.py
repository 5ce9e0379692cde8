"""What a stream is let through by, asked for again whenever something that it rests on may have changed."""

from collections.abc import Sequence
from hashlib import sha256
from math import inf

import msgspec

from domogate.domain.events import Change, ClientChanged, Event, GrantRevoked, SubscriptionChanged, UserChanged
from domogate.domain.faults import Fault, KeyRefused, NoSuchPlant, NotYourPlant, sentence
from domogate.domain.ids import Id
from domogate.domain.notices import Notice
from domogate.domain.people import Principal
from domogate.domain.plants import PlantStatus
from domogate.ports import Admission, Clock, FeedStore, Verifier
from domogate.services.events.endings import CODE_OF, KEY_GONE, TOKEN_CHANGED, TOKEN_EXPIRED, End, Ended
from domogate.services.events.filters import EventFilter
from domogate.services.events.rights import find_notice, may_read_plant, may_see
from domogate.services.plants.read_model import PlantView, ReadModel
from domogate.services.rights.credentials import Caller, check_standing

Concern = tuple[str, str]
"""A subject and its id: something whose changes concern a stream."""


def plant_concern(plant_id: Id) -> Concern:
    return "plant", plant_id


def user_concern(user_id: Id) -> Concern:
    return "user", user_id


def concern_of(event: Event) -> Concern | None:
    """Whose identity or permission changed; None for anything else."""
    if isinstance(event, UserChanged):
        return user_concern(event.user_id)
    if isinstance(event, ClientChanged):
        return "client", event.client_id
    if isinstance(event, GrantRevoked):
        return "grant", event.grant_id
    if isinstance(event, SubscriptionChanged):
        return "key", event.key_hash
    return None


class StreamContext(msgspec.Struct, frozen=True):
    """Who is asked about rights, and what there is to tell."""

    store: FeedStore
    read_model: ReadModel
    verifier: Verifier
    admission: Admission
    clock: Clock
    source: str
    """The gateway's own URL: the source of every event."""


Told = Sequence[tuple[Notice, bytes]]
"""Notices, printed."""


class StreamRights:
    """One listener's rights, as far as they were last asked for: who it is, until when, and which plants."""

    def __init__(self, grounds: StreamContext, caller: Caller, event_filter: EventFilter) -> None:
        self._context = grounds
        self._token = caller.unverified_token
        self._key = caller.key
        self._event_filter = event_filter
        self._token_until = caller.principal.expires_at
        self._key_until = inf
        self.principal: Principal = caller.principal
        self.plants: set[Id] = set(event_filter.plants)

    @property
    def about_all(self) -> bool:
        """About all plants of the person, whichever those are."""
        return not self._event_filter.plants

    @property
    def until(self) -> float:
        return min(self._token_until, self._key_until)

    def concerns(self) -> list[Concern]:
        who = self.principal
        return [
            user_concern(who.user_id),
            ("client", who.client_id),
            ("grant", who.grant_id),
            ("key", sha256(self._key).hexdigest()),
            *map(plant_concern, self.plants),
        ]

    def check_time(self) -> None:
        """Raises Ended."""
        now = self._context.clock.now()
        if now >= self._token_until:
            raise Ended(TOKEN_EXPIRED)
        if now >= self._key_until:
            raise Ended(KEY_GONE)

    async def ask_again(self) -> None:
        """As at every request: token, standing, key, plants. Raises Ended."""
        verifier = self._context.verifier
        try:
            principal = verifier.find_verified(self._token) or await verifier.verify(self._token)
            check_standing(principal)
            key_until = await self._context.admission.recognise(self._key)
            if principal.scopes != self.principal.scopes:
                raise Ended(TOKEN_CHANGED)
            plants = await self._find_plants(principal.user_id)
        except KeyRefused:
            raise Ended(KEY_GONE) from None
        except Fault as fault:
            raise Ended(End(CODE_OF[type(fault)], sentence(fault.message.rstrip(".")))) from None
        self.principal, self.plants = principal, plants
        self._token_until, self._key_until = principal.expires_at, key_until

    async def _find_plants(self, user_id: Id) -> set[Id]:
        read_model = self._context.read_model
        if self.about_all:
            plants = {plant.id for plant in (await read_model.get_person(user_id)).active_plants()}
            if not self.plants <= plants:
                raise NotYourPlant("a plant that this stream was about is not the user's any more")
            return plants
        for plant_id in self._event_filter.plants:
            check_plant(user_id, plant_id, await read_model.get_plant(plant_id))
        return self.plants

    async def still_told(self, told: Told) -> Told:
        """Of what was printed before: what may be told by the rights of now."""
        kept = []
        for notice, piece in told:
            plant_id = notice.plant_id
            plant = self._context.read_model.find_plant(plant_id) or await self._context.read_model.get_plant(plant_id)
            if plant is not None and self._may_still_see(plant, notice):
                kept.append((notice, piece))
        return kept

    def _may_still_see(self, plant: PlantView, notice: Notice) -> bool:
        who = self.principal
        # Its module may be gone by now, or be of another kind.
        there = find_notice(Change(notice.cursor, notice.at, notice.event), plant) is not None
        return there and plant.plant.id in self.plants and may_see(who.user_id, who.scopes, plant, notice)


def check_plant(user_id: Id, plant_id: Id, plant: PlantView | None) -> None:
    """Raises NoSuchPlant, NotYourPlant: in that order, as the families do (Decision 0016)."""
    if plant is None or plant.plant.status is not PlantStatus.ACTIVE:
        raise NoSuchPlant(f"no plant has the id {plant_id}")
    if not may_read_plant(user_id, plant):
        raise NotYourPlant(f"the user has no rights on the plant {plant_id}")
