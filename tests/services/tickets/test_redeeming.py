"""A ticket opens one lock once, and only while its user has the right."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from domogate.domain.commands import OrderState
from domogate.domain.ids import Id, new_id
from domogate.domain.injections import InjectedFault
from domogate.domain.people import Scope, Standing
from domogate.domain.plants import Module, PlantStatus
from domogate.domain.states import CameraState, LockState
from domogate.ports import OrderFilter
from domogate.services.driving import calls
from domogate.services.tickets.permits import TicketAction
from support.ticket_setup import (
    APP,
    DEADLINE,
    DOOR,
    GATE,
    GUEST,
    HOUSE,
    LAMP,
    OWNER,
    PANEL,
    STRANGER,
    TicketSetup,
    problem_type,
)

pytestmark = pytest.mark.slow

OPENED, CLOSED = LockState(locked=False), LockState(locked=True)


async def refused(setup: TicketSetup, ticket: str, status: int) -> str:
    """The reason of the refusal. No lock was opened."""
    reason = problem_type(await setup.redeem(ticket), status)
    assert [await setup.state_of(lock) for lock in (GATE, DOOR)] == [CLOSED, CLOSED]
    assert await setup.state_of(PANEL) == CameraState(on=False)
    return reason


class TestATicketForALock:
    async def test_opens_that_lock_and_no_other_and_it_closes_again(self, setup: TicketSetup) -> None:
        answer = await setup.redeem(await setup.mint())
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        body = answer.json()
        assert body.pop("at").endswith("Z")
        assert body == {
            "plantId": HOUSE.id,
            "moduleId": GATE.id,
            "action": "open",
            "outcome": "confirmed",
            "state": {"of": "lock", "locked": False},
        }
        assert await setup.state_of(GATE) == OPENED
        assert await setup.state_of(DOOR) == CLOSED
        setup.clock.at += 5.0
        assert await setup.state_of(GATE) == CLOSED

    async def test_is_an_order_like_any_other_under_the_tickets_id(self, setup: TicketSetup) -> None:
        ticket = await setup.mint()
        await setup.redeem(ticket)
        orders = await setup.store.list_orders(OrderFilter(HOUSE.id, GATE.id), 10)
        assert [order.state for order in orders] == [OrderState.CONFIRMED]
        entry = (await setup.entries())[-1]
        assert orders[0].order.id == f"ticket-{entry.detail['permit']}"

    async def test_is_good_until_its_last_second_and_not_in_the_next(self, setup: TicketSetup) -> None:
        tickets = [await setup.mint() for _ in range(2)]
        setup.clock.at += 59.9
        assert (await setup.redeem(tickets[0])).status_code == 200
        setup.clock.at += 5.1
        assert await refused(setup, tickets[1], 401) == "expired"

    async def test_may_come_from_a_gateway_whose_clock_is_two_seconds_ahead_and_no_more(self, setup: TicketSetup) -> None:
        setup.clock.at += 3.0
        early = await setup.mint()
        setup.clock.at -= 3.0
        assert await refused(setup, early, 401) == "invalid"
        setup.clock.at += 1.0
        assert (await setup.redeem(early)).status_code == 200

    async def test_opens_for_an_allowed_user_too(self, setup: TicketSetup) -> None:
        assert (await setup.redeem(await setup.mint(who=await setup.grant_access(GUEST)))).status_code == 200


class TestTheSecondUse:
    @pytest.fixture(params=["alone", "in a cluster"], autouse=True)
    def _in_cluster(self, setup: TicketSetup, request: pytest.FixtureRequest) -> None:
        setup.in_cluster = request.param == "in a cluster"
        setup.set_deadline(DEADLINE)

    async def test_is_refused(self, setup: TicketSetup) -> None:
        ticket = await setup.mint()
        assert (await setup.redeem(ticket)).status_code == 200
        setup.clock.at += 6.0
        assert await refused(setup, ticket, 409) == "used"

    async def test_of_fifty_at_once_one_opens(self, setup: TicketSetup) -> None:
        ticket = await setup.mint()
        answers = await asyncio.gather(*(setup.redeem(ticket) for _ in range(50)))
        assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 49}
        assert len(await setup.store.list_orders(OrderFilter(HOUSE.id, GATE.id), 100)) == 1
        await setup.audit.stop()
        noted: Counter[tuple[str, str, str]] = Counter()
        for entry in await setup.entries():
            noted[entry.action, entry.result, entry.detail.get("why", "")] += int(entry.detail.get("repeats", 1))
        assert noted == {("ticket redeemed", "ok", ""): 1, ("ticket redeemed", "refused", "used"): 49}

    async def test_is_refused_by_another_gateway_on_the_same_store(self, setup: TicketSetup) -> None:
        ticket = await setup.mint()
        other = TicketSetup(setup.store, setup.clock)
        assert (await setup.redeem(ticket)).status_code == 200
        async with other.http:
            assert problem_type(await other.redeem(ticket), 409) == "used"

    async def test_is_refused_although_the_device_had_failed(self, setup: TicketSetup) -> None:
        await setup.inject(InjectedFault.REFUSING, GATE)
        ticket = await setup.mint()
        assert await refused(setup, ticket, 502) == "device-refused"
        await setup.store.clear_injections(HOUSE.id)
        assert await refused(setup, ticket, 409) == "used"

    async def test_is_refused_although_the_device_is_still_offline(self, setup: TicketSetup) -> None:
        await setup.inject(InjectedFault.OFFLINE, GATE)
        ticket = await setup.mint()
        assert problem_type(await setup.redeem(ticket), 503) == "device-offline"
        assert problem_type(await setup.redeem(ticket), 409) == "used"

    async def test_a_refusal_for_want_of_rights_uses_nothing_up(self, setup: TicketSetup) -> None:
        ticket = await setup.mint(who=await setup.grant_access(GUEST))
        await setup.store.withdraw_user(HOUSE.id, GUEST.id)
        assert await refused(setup, ticket, 403) == "right-withdrawn"
        await setup.store.allow_user(HOUSE.id, GUEST.id)
        assert (await setup.redeem(ticket)).status_code == 200


async def _withdraw(setup: TicketSetup, grant: Id) -> None:
    await setup.store.withdraw_user(HOUSE.id, GUEST.id)


async def _revoke(setup: TicketSetup, grant: Id) -> None:
    await setup.store.revoke_grant(grant, setup.clock.now())


async def _delete_user(setup: TicketSetup, grant: Id) -> None:
    await setup.store.delete_user(GUEST.id)


async def _deactivate(setup: TicketSetup, grant: Id) -> None:
    await setup.store.save_user(msgspec.structs.replace(GUEST, password_hash=None))


async def _delete_client(setup: TicketSetup, grant: Id) -> None:
    await setup.store.delete_client(APP.id)


async def _remove_plant(setup: TicketSetup, grant: Id) -> None:
    await setup.store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, setup.clock.now())


async def _expire_password(setup: TicketSetup, grant: Id) -> None:
    await setup.store.save_user(msgspec.structs.replace(GUEST, standing=Standing.BOTH_EXPIRED))


async def _expire_terms(setup: TicketSetup, grant: Id) -> None:
    await setup.store.save_user(msgspec.structs.replace(GUEST, standing=Standing.TERMS_EXPIRED))


class TestWhatIsWithdrawnBeforeItIsRedeemed:
    @pytest.mark.parametrize(
        ("withdraw", "status", "reason"),
        [
            (_withdraw, 403, "right-withdrawn"),
            (_revoke, 403, "right-withdrawn"),
            (_delete_user, 403, "right-withdrawn"),
            (_deactivate, 403, "right-withdrawn"),
            (_delete_client, 403, "right-withdrawn"),
            (_remove_plant, 404, "no-such-device"),
            (_expire_password, 469, "password-to-renew"),
            (_expire_terms, 470, "terms-to-accept"),
        ],
    )
    async def test_counts(
        self, setup: TicketSetup, withdraw: Callable[[TicketSetup, Id], Awaitable[None]], status: int, reason: str
    ) -> None:
        guest = await setup.grant_access(GUEST)
        ticket = await setup.mint(who=guest)
        pseudonym = await setup.audit.find_pseudonym(GUEST.id)
        await withdraw(setup, guest.grant_id)
        assert problem_type(await setup.redeem(ticket), status) == reason
        assert await setup.store.list_orders(OrderFilter(HOUSE.id), 10) == []
        entry = (await setup.entries())[-1]
        assert (entry.who, entry.result, entry.detail["why"]) == (f"user:{pseudonym}", "refused", reason)

    async def test_fifty_at_once_open_nothing(self, setup: TicketSetup) -> None:
        ticket = await setup.mint(who=await setup.grant_access(GUEST))
        await setup.store.withdraw_user(HOUSE.id, GUEST.id)
        answers = await asyncio.gather(*(setup.redeem(ticket) for _ in range(50)))
        assert Counter(answer.status_code for answer in answers) == {403: 50}
        assert await setup.state_of(GATE) == CLOSED

    async def test_a_grant_that_never_had_the_scope_gives_no_right(self, setup: TicketSetup) -> None:
        ticket = await setup.mint(who=await setup.grant_access(OWNER, (Scope.TOPOLOGY_READ,)))
        assert await refused(setup, ticket, 403) == "right-withdrawn"

    async def test_a_grant_of_somebody_else_gives_no_right(self, setup: TicketSetup) -> None:
        theirs = await setup.grant_access(STRANGER)
        ticket = await setup.mint(who=msgspec.structs.replace(await setup.grant_access(), grant_id=theirs.grant_id))
        assert await refused(setup, ticket, 403) == "right-withdrawn"

    @pytest.mark.parametrize("left", [(DOOR, PANEL, LAMP), (msgspec.structs.replace(GATE, kind=LAMP.kind), DOOR, PANEL)])
    async def test_a_module_that_went_or_is_another_thing_now_is_404(
        self, setup: TicketSetup, left: tuple[Module, ...]
    ) -> None:
        ticket = await setup.mint()
        estate = await setup.store.export_estate()
        plant = estate.plants[0]
        topology = msgspec.structs.replace(plant.topology, modules=left)
        changed = msgspec.structs.replace(plant, topology=topology, states=())
        await setup.store.import_estate(msgspec.structs.replace(estate, plants=(changed,)), prune=True)
        assert problem_type(await setup.redeem(ticket), 404) == "no-such-device"


class TestTicketsOfOtherIssuersPeople:
    """Their grant is not stored here; it has a derived id (UUID version 5)."""

    FOREIGN = Id("2ed6657d-e927-568b-95e1-2665a8aea6a2")

    async def test_open_while_the_client_may_have_the_scope(self, setup: TicketSetup) -> None:
        ticket = await setup.mint(who=await setup.grant_access(grant_id=self.FOREIGN))
        assert (await setup.redeem(ticket)).status_code == 200

    async def test_are_refused_once_it_may_not(self, setup: TicketSetup) -> None:
        ticket = await setup.mint(who=await setup.grant_access(grant_id=self.FOREIGN))
        await setup.store.save_client(msgspec.structs.replace(APP, scopes=(Scope.TOPOLOGY_READ,)))
        assert await refused(setup, ticket, 403) == "right-withdrawn"

    async def test_end_with_the_token_they_were_asked_for_with(self, setup: TicketSetup) -> None:
        foreign = await setup.grant_access(grant_id=self.FOREIGN)
        ticket = await setup.mint(who=msgspec.structs.replace(foreign, expires_at=setup.clock.now() + 5.0))
        setup.clock.at += 5.0
        assert await refused(setup, ticket, 401) == "expired"

    async def test_an_unknown_grant_of_our_own_is_none_of_theirs(self, setup: TicketSetup) -> None:
        ticket = await setup.mint(who=await setup.grant_access(grant_id=new_id()))
        assert await refused(setup, ticket, 403) == "right-withdrawn"


class TestADevice:
    @pytest.mark.parametrize(
        ("fault", "status", "reason", "end"),
        [
            (InjectedFault.OFFLINE, 503, "device-offline", OrderState.FAILED),
            (InjectedFault.SLOW, 504, "device-timeout", OrderState.EXPIRED),
            (InjectedFault.REFUSING, 502, "device-refused", OrderState.FAILED),
        ],
    )
    async def test_that_does_not_obey_is_told_as_it_is(
        self, setup: TicketSetup, fault: InjectedFault, status: int, reason: str, end: OrderState
    ) -> None:
        ticket = await setup.mint()
        await setup.inject(fault, GATE)
        if fault is InjectedFault.SLOW:
            setup.set_deadline(1.0)
        assert problem_type(await setup.redeem(ticket), status) == reason
        entry = (await setup.entries())[-1]
        assert (entry.action, entry.result, entry.detail["why"]) == ("ticket redeemed", "failed", reason)
        record = await setup.store.find_order(f"ticket-{entry.detail['permit']}")
        assert record is not None
        assert record.state is end

    @pytest.mark.parametrize(("write", "in_cluster"), [("add_orders", False), ("use_ticket", True), ("add_orders", True)])
    async def test_a_store_that_fails_is_500_and_opens_nothing(
        self, setup: TicketSetup, monkeypatch: pytest.MonkeyPatch, write: str, in_cluster: bool
    ) -> None:
        async def fail(*_: Any, **__: Any) -> bool:
            raise OSError("the disk is full")

        setup.in_cluster = in_cluster
        setup.set_deadline(DEADLINE)
        ticket = await setup.mint()
        with monkeypatch.context() as patched:
            patched.setattr(setup.store, write, fail)
            answer = await setup.redeem(ticket)
        assert answer.status_code == 500
        assert "disk" not in answer.text
        assert await setup.state_of(GATE) == CLOSED
        entry = (await setup.entries())[-1]
        assert (entry.result, entry.detail["why"]) == ("failed", "failed")
        # In a cluster, the ticket was used before the order was written.
        is_used = in_cluster and write == "add_orders"
        assert (await setup.redeem(ticket)).status_code == (409 if is_used else 200)

    @pytest.mark.parametrize("in_cluster", [False, True])
    async def test_that_is_not_asked_because_its_plant_is_too_busy_is_no_open_door(
        self, setup: TicketSetup, monkeypatch: pytest.MonkeyPatch, in_cluster: bool
    ) -> None:
        setup.in_cluster = in_cluster
        setup.set_deadline(DEADLINE)
        ticket = await setup.mint()
        with monkeypatch.context() as patched:
            patched.setattr(calls, "MOST_IN_A_PLANT", 0)
            answer = await setup.redeem(ticket)
        body = answer.json()
        assert (answer.status_code, answer.headers.get("retry-after"), body["type"]) == (503, "1", "about:blank")
        assert "the device was not asked" in body["detail"].lower()
        assert await setup.store.list_orders(OrderFilter(HOUSE.id), 10) == []
        assert await setup.state_of(GATE) == CLOSED
        assert (await setup.redeem(ticket)).status_code == (409 if in_cluster else 200)


class TestWhatIsNoted:
    async def test_of_a_success_is_who_what_where_and_by_which_application(self, setup: TicketSetup) -> None:
        await setup.redeem(await setup.mint())
        entry = (await setup.entries())[-1]
        assert entry.who == f"user:{await setup.audit.find_pseudonym(OWNER.id)}"
        assert (entry.action, entry.what, entry.result) == ("ticket redeemed", f"open module:{GATE.id}", "ok")
        assert entry.address == "192.0.2.9"
        assert (entry.detail["plant"], entry.detail["client"]) == (HOUSE.id, APP.id)

    async def test_is_never_the_ticket_itself(self, setup: TicketSetup) -> None:
        ticket = await setup.mint(TicketAction.VIDEO_OUT)
        token = (await setup.redeem(ticket)).json()["picture"]["token"]
        await setup.look(token)
        await setup.redeem(ticket)
        await setup.redeem(f"{ticket}x")
        said = msgspec.json.encode(await setup.entries()).decode()
        assert GATE.id in said or PANEL.id in said
        for secret in (ticket, token):
            assert not any(part in said for part in secret.split("."))

    async def test_metrics_count_every_outcome(self, setup: TicketSetup) -> None:
        ticket = await setup.mint()
        for shown in (ticket, ticket, "nonsense"):
            await setup.redeem(shown)
        assert setup.redemption.outcomes == {("redeem", "done"): 1, ("redeem", "used"): 1, ("redeem", "invalid"): 1}
