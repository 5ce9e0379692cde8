"""Random users, plants, rights and streams against a model: a stream gives out exactly the events that its user may see.

Rights change in the model when the store reports the change (the model is the first listener of the store), and every event is
checked when it is given out.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from domogate.domain.devices import DeviceKind
from domogate.domain.events import (
    Change,
    GrantRevoked,
    PlantAspect,
    PlantChanged,
    StateChanged,
    SubscriptionChanged,
    UserChanged,
)
from domogate.domain.ids import Id
from domogate.domain.notices import NoticeKind
from domogate.domain.people import Scope, Standing, User
from domogate.domain.plants import Module, Plant, PlantStatus
from domogate.services.events.endings import EndCode
from domogate.services.events.filters import EventFilter
from support.examples import examples
from support.stream_model import KIND_FILTERS, KINDS, PLANTS, SCOPE_OF, SCOPES, USERS, ModelChange, Session
from support.stream_setup import Credentials, ReceivedEvent, StreamSetup, a_module, open_stream_setup

pytestmark = pytest.mark.slow

T = TypeVar("T")

a_user, a_plant = st.integers(0, USERS - 1), st.integers(0, PLANTS - 1)


class StreamsMachine(RuleBasedStateMachine):
    """Three people, three plants; user N owns plant N."""

    def __init__(self, runner: asyncio.Runner, setup: StreamSetup) -> None:
        super().__init__()
        self._runner = runner
        self._setup = setup
        self._happened: list[ModelChange] = []
        self._sessions: list[Session] = []
        self._pending: dict[Id, deque[Callable[[int], None]]] = {}
        """The effect on the model of the next change of a plant, user, grant or key."""
        self._dead_grants: set[Id] = set()
        self._dead_keys: set[Id] = set()
        self._bad_standing: set[int] = set()

    def _do(self, awaitable: Awaitable[T]) -> T:
        async def run() -> T:
            return await awaitable

        return self._runner.run(run())

    @initialize()
    def build(self) -> None:
        self._users: list[User] = [self._do(self._setup.add_user(f"User {number}")) for number in range(USERS)]
        self._modules: list[list[Module]] = [[a_module(kind) for kind in KINDS] for _ in range(PLANTS)]
        self._plants: list[Plant] = [
            self._do(self._setup.add_plant(self._users[number], *self._modules[number])) for number in range(PLANTS)
        ]
        self._readers: list[set[int]] = [{number} for number in range(PLANTS)]
        self._active = [True] * PLANTS
        self._gained: dict[tuple[int, int], int] = {(number, number): 0 for number in range(PLANTS)}
        self._setup.before.append(self._learn)

    def teardown(self) -> None:
        for session in self._sessions:
            if session.listener is not None:
                session.listener.stream.close()
                session.listener.reading.set()
        self._setup.failure = None
        self._do(self._setup.quiet())
        self._setup.listeners.clear()
        self._setup.before.clear()

    # the model

    def _learn(self, changes: Sequence[Change]) -> None:
        """Called for each commit, before the gateway is."""
        for change in changes:
            event = change.event
            if isinstance(event, StateChanged):
                self._happen(change.cursor, event)
            elif isinstance(event, PlantChanged):
                self._mean(event.plant_id, change.cursor)
                plant = self._find_plant(event.plant_id)
                if plant is not None:
                    kind = NoticeKind.PEOPLE if event.aspect is PlantAspect.PEOPLE else NoticeKind.PLANT
                    scopes = frozenset({Scope.TOPOLOGY_READ, Scope.COMFORT_READ, Scope.SAFETY_READ})
                    self._happened.append(ModelChange(change.cursor, plant, frozenset({kind}), scopes))
            elif isinstance(event, UserChanged):
                self._mean(event.user_id, change.cursor)
            elif isinstance(event, GrantRevoked):
                self._dead_grants.add(event.grant_id)
            elif isinstance(event, SubscriptionChanged):
                self._mean(Id(event.key_hash), change.cursor)

    def _happen(self, cursor: int, event: StateChanged) -> None:
        plant = self._find_plant(event.plant_id)
        if plant is not None:
            kind = next(module.kind for module in self._modules[plant] if module.id == event.module_id)
            safety = kind is DeviceKind.EMERGENCY_CONTROLLER
            kinds = {NoticeKind.SAFETY if safety else NoticeKind.STATE}
            if event.turned:
                kinds.add(NoticeKind.REACHABILITY)
            self._happened.append(ModelChange(cursor, plant, frozenset(kinds), frozenset({SCOPE_OF[kind]})))

    def _find_plant(self, plant_id: Id) -> int | None:
        return next((number for number, plant in enumerate(self._plants) if plant.id == plant_id), None)

    def _mean(self, identity: Id, cursor: int) -> None:
        waiting = self._pending.get(identity)
        if waiting:
            waiting.popleft()(cursor)

    def _expect(self, identity: Id, meaning: Callable[[int], None]) -> None:
        self._pending.setdefault(identity, deque()).append(meaning)

    def _may_read(self, user: int, plant: int) -> bool:
        return self._active[plant] and user in self._readers[plant]

    def _is_good(self, session: Session) -> bool:
        credentials = session.credentials
        return (
            credentials.grant.id not in self._dead_grants
            and credentials.subscription_id not in self._dead_keys
            and session.user not in self._bad_standing
        )

    def _judge(self, session: Session, received: ReceivedEvent) -> None:
        """Called when a client gets an event."""
        session.last_id = session.last_id if received.id is None else received.id
        if received.event in ("end", "reset"):
            return
        assert self._is_good(session), f"{received.event} told by credentials that are not good any more"
        if received.event == "ready":
            return
        plant = self._find_plant(received.data["data"]["plantId"])
        assert plant is not None
        assert self._may_read(session.user, plant), f"user {session.user} heard of plant {plant}: {received}"
        if received.event == "present":
            return
        assert received.id is not None
        happened = next(item for item in self._happened if item.cursor == received.id)
        assert session.wants(happened, self._plants[plant]), f"{received} was not asked for, or is beyond its scopes"
        last = session.received[-1] if session.received else session.since
        assert received.id > last, f"{received.id} was told after {last}"
        session.received.append(received.id)

    # what happens

    def _report(self, plant: int, module: int, *, on: bool, reachable: bool) -> Awaitable[None]:
        return self._setup.report(self._plants[plant], self._modules[plant][module], on=on, reachable=reachable)

    @rule(plant=a_plant, module=st.integers(0, 2), on=st.booleans(), reachable=st.booleans())
    def report(self, plant: int, module: int, on: bool, reachable: bool) -> None:
        self._do(self._report(plant, module, on=on, reachable=reachable))

    def _allow(self, user: int, plant: int) -> Awaitable[Any]:
        if user not in self._readers[plant]:

            def meaning(cursor: int) -> None:
                self._readers[plant].add(user)
                self._gained[user, plant] = cursor

            self._expect(self._plants[plant].id, meaning)
        return self._setup.store.allow_user(self._plants[plant].id, self._users[user].id)

    def _withdraw(self, user: int, plant: int) -> Awaitable[Any]:
        if user in self._readers[plant]:
            self._expect(self._plants[plant].id, lambda _: self._readers[plant].discard(user))
        return self._setup.store.withdraw_user(self._plants[plant].id, self._users[user].id)

    @rule(user=a_user, plant=a_plant)
    def change_rights(self, user: int, plant: int) -> None:
        if user != plant:
            self._do(self._withdraw(user, plant) if user in self._readers[plant] else self._allow(user, plant))

    @rule(user=a_user, plant=a_plant, before=st.integers(0, 3), after=st.integers(0, 3), listen=st.booleans())
    def change_rights_in_the_middle_of_things(self, user: int, plant: int, before: int, after: int, listen: bool) -> None:
        """All run at the same time; the store commits them in this order."""
        if user == plant:
            return

        async def at_once() -> None:
            reports = [self._report(plant, number % 3, on=number % 2 == 0, reachable=True) for number in range(before + after)]
            change = self._withdraw(user, plant) if user in self._readers[plant] else self._allow(user, plant)
            parts: list[Awaitable[Any]] = [*reports[:before], change, *reports[before:]]
            if listen:
                parts.insert(before, self._connect_all())
            await asyncio.gather(*parts)

        self._do(at_once())

    @rule(plant=a_plant)
    def remove_or_bring_back(self, plant: int) -> None:
        status = PlantStatus.REMOVED if self._active[plant] else PlantStatus.ACTIVE

        def meaning(cursor: int) -> None:
            self._active[plant] = status is PlantStatus.ACTIVE
            if self._active[plant]:
                for user in self._readers[plant]:
                    self._gained[user, plant] = cursor

        self._expect(self._plants[plant].id, meaning)
        self._do(self._setup.store.set_plant_status(self._plants[plant].id, status, self._setup.clock.now()))

    @rule(user=a_user, standing=st.sampled_from(Standing))
    def change_standing(self, user: int, standing: Standing) -> None:
        def meaning(_: int) -> None:
            (self._bad_standing.discard if standing is Standing.GOOD else self._bad_standing.add)(user)

        self._expect(self._users[user].id, meaning)
        self._do(self._setup.store.save_user(msgspec.structs.replace(self._users[user], standing=standing)))

    @precondition(lambda self: self._sessions)
    @rule(data=st.data(), key=st.booleans())
    def take_credentials_away(self, data: st.DataObject, key: bool) -> None:
        session = data.draw(st.sampled_from(self._sessions))
        if key:
            self._do(self._revoke_key(session.credentials))
        else:
            self._do(self._setup.store.revoke_grant(session.credentials.grant.id, self._setup.clock.now()))

    async def _revoke_key(self, credentials: Credentials) -> None:
        known = await self._setup.store.list_subscriptions()
        key_hash = next(each.key_hash for each in known if each.id == credentials.subscription_id)
        self._expect(Id(key_hash), lambda _: self._dead_keys.add(credentials.subscription_id))
        await self._setup.store.revoke_subscription(credentials.subscription_id, self._setup.clock.now())

    # who listens

    @precondition(lambda self: len(self._sessions) < 6)
    @rule(user=a_user, plant=st.none() | a_plant, scopes=st.sampled_from(SCOPES), kinds=st.sampled_from(KIND_FILTERS))
    def come(self, user: int, plant: int | None, scopes: tuple[str, ...], kinds: frozenset[NoticeKind]) -> None:
        if plant is not None and not self._may_read(user, plant):
            return
        event_filter = EventFilter(frozenset() if plant is None else frozenset({self._plants[plant].id}), kinds)
        if kinds == {NoticeKind.STATE} and not {Scope.LIGHT_READ, Scope.PLUG_READ}.intersection(scopes):
            return
        if kinds == {NoticeKind.SAFETY, NoticeKind.PEOPLE} and scopes == (Scope.LIGHT_READ,):
            return
        session = Session(user, event_filter, self._do(self._setup.grant_access(self._users[user], scopes)))
        session.since = session.last_id = self._do(self._setup.store.newest_cursor())
        self._sessions.append(session)
        self._do(self._connect(session))

    async def _connect(self, session: Session) -> None:
        """With new credentials if the old ones were revoked. Not if it would be refused."""
        if session.user in self._bad_standing or session.connected:
            return
        plants = [number for number, plant in enumerate(self._plants) if plant.id in session.event_filter.plants]
        if not all(self._may_read(session.user, plant) for plant in plants):
            return
        if not self._is_good(session):
            session.credentials = await self._setup.grant_access(self._users[session.user], session.credentials.grant.scopes)
        session.listener = await self._setup.listen(
            session.credentials,
            session.event_filter,
            b"%d" % session.last_id,
            on_event=lambda received: self._judge(session, received),
            ready=False,
        )

    async def _connect_all(self) -> None:
        for session in self._sessions:
            await self._connect(session)

    @precondition(lambda self: self._sessions)
    @rule()
    def come_again(self) -> None:
        self._do(self._connect_all())

    @precondition(lambda self: self._sessions)
    @rule(data=st.data())
    def go_away(self, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from(self._sessions))
        if session.listener is not None:
            session.listener.stream.close()
            session.listener.reading.set()

    @precondition(lambda self: any(session.connected for session in self._sessions))
    @rule(data=st.data())
    def stop_or_go_on_reading(self, data: st.DataObject) -> None:
        """Events in the queue must not be given out after the rights are lost."""
        session = data.draw(st.sampled_from([session for session in self._sessions if session.connected]))
        assert session.listener is not None
        reading = session.listener.reading
        (reading.clear if reading.is_set() else reading.set)()

    # what must hold

    @invariant()
    def all_heard_all_they_may(self) -> None:
        if not hasattr(self, "_plants"):
            return
        self._do(self._setup.quiet())
        for session in self._sessions:
            listener = session.listener
            if listener is None:
                continue
            assert listener.failure is None, listener.failure
            assert listener.end_code in (None, *EndCode)
            if listener.ended or not listener.reading.is_set():
                continue
            assert self._is_good(session), "a stream outlives what it was opened by"
            for plant in range(PLANTS):
                asked_for = not session.event_filter.plants or self._plants[plant].id in session.event_filter.plants
                if self._may_read(session.user, plant):
                    self._check_complete(session, plant)
                else:
                    assert not session.event_filter.plants or not asked_for, "a stream outlives the right to its plant"

    def _check_complete(self, session: Session, plant: int) -> None:
        since = max(session.since + 1, self._gained[session.user, plant])
        received = set(session.received)
        for happened in self._happened:
            if happened.plant == plant and happened.cursor >= since and session.wants(happened, self._plants[plant]):
                assert happened.cursor in received, f"user {session.user} did not hear of {happened}"


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as opened:
        yield opened


def test_every_stream_gets_exactly_the_events_that_it_may_get(runner: asyncio.Runner) -> None:
    opened = open_stream_setup()
    setup = runner.run(opened.__aenter__())
    try:
        new_machine: Any = partial(StreamsMachine, runner, setup)  # the library only needs a callable
        run_state_machine_as_test(new_machine, settings=settings(max_examples=examples(8), stateful_step_count=25))
    finally:
        runner.run(opened.__aexit__(None, None, None))
