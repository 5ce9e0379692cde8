"""Repeated refusals: the first has an entry at once, the others are counted."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.services.audit import NOBODY, AuditAction, AuditLog, AuditResult, client_ref, refusal_counts, user_ref
from domogate.services.audit.refusal_counts import KINDS_NOTED, MINUTE
from support.audit_store import USER, MemoryAuditStore
from support.clocks import ManualClock
from support.examples import examples

APP = client_ref("app")


class StoppedLog:
    """A log that is read after it stopped."""

    def __init__(self) -> None:
        self.store, self.clock = MemoryAuditStore(USER), ManualClock()
        self.log = AuditLog(self.store, self.clock)

    def refuse(
        self, what: str = APP, *, who: str = NOBODY, address: str = "192.0.2.1", result: str = AuditResult.WRONG
    ) -> None:
        self.log.note(AuditAction.REFUSAL, who=who, what=what, result=result, address=address, detail={"of": "client secret"})

    async def rows(self) -> list[tuple[str, str, str | None]]:
        await self.log.flush()
        entries = [record.entry for record in self.store.records]
        return [(entry.what, entry.address, entry.detail.get("repeats")) for entry in entries]


@pytest.fixture
def noted() -> StoppedLog:
    return StoppedLog()


class TestRepeats:
    async def test_the_first_is_noted_at_once_and_the_others_as_a_number(self, noted: StoppedLog) -> None:
        for _ in range(10_000):
            noted.refuse()
        assert await noted.rows() == [(APP, "192.0.2.1", None)]
        await noted.log.stop()
        assert await noted.rows() == [(APP, "192.0.2.1", None), (APP, "192.0.2.1", "9999")]
        last = noted.store.records[-1].entry
        assert (last.action, last.who, last.result, last.detail["of"]) == ("refusal", "nobody", "wrong", "client secret")

    async def test_texts_that_are_cleaned_are_counted_too(self, noted: StoppedLog) -> None:
        for what in ("a\0b", "x" * 600):
            for _ in range(3):
                noted.refuse(what)
        await noted.log.stop()
        whats = ["a\ufffdb", f"{'x' * 499}…"]
        assert [(what, repeats) for what, _, repeats in await noted.rows()] == [
            *((what, None) for what in whats),
            *((what, "2") for what in whats),
        ]

    async def test_each_minute_has_two_entries(self, noted: StoppedLog) -> None:
        for _ in range(3):
            for _ in range(5):
                noted.refuse()
            noted.clock.at += MINUTE
        await noted.log.stop()
        assert [repeats for _, _, repeats in await noted.rows()] == [None, "4"] * 3

    async def test_they_are_summed_up_by_a_timer_when_nothing_more_comes(
        self, noted: StoppedLog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(refusal_counts, "MINUTE", 0.01)
        noted.refuse()
        noted.refuse()
        async with asyncio.timeout(10):
            while len(await noted.rows()) < 2:
                await asyncio.sleep(0.01)
        assert (await noted.rows())[-1] == (APP, "192.0.2.1", "1")

    async def test_addresses_of_one_network_are_one_kind(self, noted: StoppedLog) -> None:
        for number in range(1, 50):
            noted.refuse(address=f"2001:db8::{number:x}")
        await noted.log.stop()
        assert await noted.rows() == [(APP, "2001:db8::1", None), (APP, "2001:db8::/64", "48")]

    async def test_other_actors_subjects_and_results_have_their_own_entries(self, noted: StoppedLog) -> None:
        noted.refuse()
        noted.refuse(client_ref("other"))
        noted.refuse(result=AuditResult.SLOWED)
        noted.refuse(who=user_ref(USER))
        await noted.log.stop()
        assert [repeats for _, _, repeats in await noted.rows()] == [None] * 4

    async def test_successes_are_never_counted(self, noted: StoppedLog) -> None:
        for _ in range(5):
            noted.refuse(result=AuditResult.OK)
        assert len(await noted.rows()) == 5


class TestBounds:
    async def test_many_addresses_share_one_entry(self, noted: StoppedLog) -> None:
        for number in range(10_000):
            noted.refuse(address=f"10.1.{number // 256}.{number % 256}")
        await noted.log.stop()
        rows = await noted.rows()
        assert len(rows) == KINDS_NOTED + 1
        assert rows[-1] == ("refusals of other kinds", "", str(10_000 - KINDS_NOTED))

    async def test_many_refusals_of_strangers_do_not_hide_those_of_a_known_user(self, noted: StoppedLog) -> None:
        for number in range(1000):
            noted.refuse(address=f"10.1.{number // 256}.{number % 256}")
        noted.refuse("E1 NotYourPlant", who=user_ref(USER))
        assert (await noted.rows())[-1][0] == "E1 NotYourPlant"

    @settings(max_examples=examples(30), deadline=None)
    @given(
        st.lists(
            st.tuples(st.sampled_from("abc"), st.integers(0, 40), st.sampled_from([0.0, 1.0, 30.0, 61.0, -5.0])), max_size=200
        )
    )
    def test_every_refusal_is_noted_or_counted_once(self, refusals: list[tuple[str, int, float]]) -> None:
        async def run() -> None:
            noted = StoppedLog()
            for who, number, later in refusals:
                noted.clock.at += later
                noted.refuse(f"thing {number}", who=f"client:{who}")
            await noted.log.stop()
            assert sum(int(repeats or 1) for _, _, repeats in await noted.rows()) == len(refusals)

        asyncio.run(run())
