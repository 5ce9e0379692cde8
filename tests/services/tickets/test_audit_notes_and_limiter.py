"""Many refusals do not fill the audit log, do not keep the gateway busy, and do not hide other attempts."""

import asyncio

import pytest

from domogate.domain.states import LockState
from domogate.services.tickets.refusal_limiter import ALLOWANCE
from support.ticket_setup import GATE, TicketSetup, problem_type

pytestmark = pytest.mark.slow


class TestGarbage:
    async def test_has_one_entry_a_minute_and_one_that_says_how_many_more(self, setup: TicketSetup) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(ALLOWANCE):
                group.create_task(setup.redeem(f"garbage {number}"))
        await setup.audit.stop()
        entries = await setup.entries()
        assert len(entries) == 2
        assert {entry.who for entry in entries} == {"nobody"}
        assert entries[-1].detail == {"why": "invalid", "repeats": str(ALLOWANCE - 1)}

    async def test_hides_no_attempt_with_a_ticket(self, setup: TicketSetup) -> None:
        ticket = await setup.mint()
        for _ in range(25):
            await setup.redeem("garbage")
        for _ in range(2):
            await setup.redeem(ticket)
        assert [entry.result for entry in await setup.entries()][-2:] == ["ok", "refused"]

    async def test_is_never_in_the_log_as_it_was_sent(self, setup: TicketSetup) -> None:
        await setup.redeem("eyJ-something-that-somebody-keeps-secret")
        assert "secret" not in str(await setup.entries())


class TestOneTicketAgainAndAgain:
    async def test_has_one_entry_and_then_their_number(self, setup: TicketSetup) -> None:
        ticket = await setup.mint()
        for _ in range(21):
            await setup.redeem(ticket)
        await setup.audit.stop()
        entries = await setup.entries()
        assert [(entry.detail.get("why"), entry.detail.get("repeats")) for entry in entries] == [
            (None, None),
            ("used", None),
            ("used", "19"),
        ]
        assert len({entry.who for entry in entries}) == 1


class TestAnAddressThatIsRefusedAllTheTime:
    async def test_is_not_looked_at_for_a_while_and_what_it_shows_then_is_not_used(self, setup: TicketSetup) -> None:
        ticket = await setup.mint()
        for _ in range(ALLOWANCE):
            assert (await setup.redeem("garbage")).status_code == 401
        setup.clock.at += 1.5
        answer = await setup.redeem(ticket)
        assert problem_type(answer, 429) == "slow-down"
        assert answer.headers["retry-after"] == "9"
        assert await setup.state_of(GATE) == LockState(locked=True)
        setup.clock.at += 8.5
        assert (await setup.redeem(ticket)).status_code == 200

    async def test_is_refused_before_the_body_is_read(self, setup: TicketSetup) -> None:
        for _ in range(ALLOWANCE):
            await setup.redeem("garbage")
        for body, headers in ((b"{", {}), (b"x" * 30_000, {}), (b"{}", {"content-type": "text/plain"})):
            answer = await setup.http.post("/tickets/redeem", content=body, headers=headers)
            assert problem_type(answer, 429) == "slow-down"
            assert answer.headers["retry-after"] == "10"
        assert setup.redemption.outcomes["redeem", "slow-down"] == 3

    async def test_is_one_network_and_others_are_not_slowed_down(self, setup: TicketSetup) -> None:
        async with setup.from_address("2001:db8::1") as one, setup.from_address("2001:db8::2") as near:
            for _ in range(ALLOWANCE):
                await one.post("/tickets/redeem", json={"ticket": "garbage"})
            assert (await near.post("/tickets/redeem", json={"ticket": "garbage"})).status_code == 429
            assert (await near.get("/tickets/picture", headers={"authorization": "Bearer x"})).status_code == 429
        assert (await setup.redeem(await setup.mint())).status_code == 200

    async def test_is_noted_as_slowed(self, setup: TicketSetup) -> None:
        for _ in range(ALLOWANCE):
            await setup.redeem("garbage")
        setup.clock.at += 0.5
        await setup.redeem("garbage")
        assert (await setup.entries())[-1].result == "slowed"

    async def test_a_device_that_fails_does_not_count_against_the_address(self, setup: TicketSetup) -> None:
        for _ in range(ALLOWANCE - 1):
            await setup.redeem("garbage")
        await setup.store.set_module_options(GATE.id, {"simulate": "refusing"})
        await setup.driving.settled()
        for _ in range(3):
            assert (await setup.redeem(await setup.mint())).status_code == 502
