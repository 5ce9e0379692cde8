import asyncio
import logging
import math
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from domogate.domain.faults import KeyRefused, TooManyRequests
from domogate.domain.people import Subscription
from domogate.identity.admission import KeyAdmission
from domogate.identity.subscriptions import new_key, new_subscription
from domogate.ports import Admitted
from support.clocks import ManualClock
from support.identity import MemoryStore

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC).timestamp()


class AdmissionSetup:
    """Admission on a memory store at noon. It can issue keys and restart."""

    def __init__(self) -> None:
        self.clock = ManualClock(NOON)
        self.store = MemoryStore(self.clock)
        self.restart()

    def restart(self) -> None:
        self.store.listeners.clear()
        self.admission = KeyAdmission(self.store, self.clock)
        self.store.listen(self.admission.apply)

    async def issue(self, **limits: Any) -> tuple[bytes, Subscription]:
        key = new_key()
        subscription = new_subscription("app", key, self.clock.now(), **limits)
        await self.store.add_subscription(subscription)
        return key.encode(), subscription

    async def admit(self, key: bytes) -> Admitted:
        """The way a surface admits a key."""
        return self.admission.admit_known(key) or await self.admission.admit(key)

    async def admit_times(self, key: bytes, times: int) -> Admitted:
        for _ in range(times - 1):
            await self.admit(key)
        return await self.admit(key)

    async def refusal(self, key: bytes) -> TooManyRequests:
        with pytest.raises(TooManyRequests) as caught:
            await self.admit(key)
        return caught.value


@pytest.fixture
def setup() -> AdmissionSetup:
    return AdmissionSetup()


class TestAKnownKey:
    async def test_is_admitted_and_then_without_the_store(self, setup: AdmissionSetup) -> None:
        key, subscription = await setup.issue()
        assert setup.admission.admit_known(key) is None
        assert await setup.admission.admit(key) == Admitted(subscription.id)
        setup.store.reads.clear()
        assert setup.admission.admit_known(key) is setup.admission.admit_known(key)
        assert setup.store.reads == []

    async def test_without_limits_is_told_of_none(self, setup: AdmissionSetup) -> None:
        key, _ = await setup.issue()
        assert (await setup.admit_times(key, 100)).headers == ()

    async def test_is_counted_also_without_a_quota_and_after_a_write_that_fails(self, setup: AdmissionSetup) -> None:
        free, subscription = await setup.issue()
        rated, other = await setup.issue(rate="3/minute")
        await setup.admit_times(free, 5)
        await setup.admit_times(rated, 3)
        await setup.refusal(rated)
        setup.store.failure = OSError("disk full")
        await setup.admission.stop()
        setup.store.failure = None
        await setup.admit(free)
        await setup.admission.stop()
        await setup.admission.stop()
        assert setup.store.usage == {(subscription.id, "2026-11-15"): 6, (other.id, "2026-11-15"): 3}

    async def test_is_refused_from_the_next_call_once_revoked(self, setup: AdmissionSetup) -> None:
        key, subscription = await setup.issue()
        await setup.admit(key)
        await setup.store.revoke_subscription(subscription.id, setup.clock.now())
        assert setup.admission.admit_known(key) is None
        with pytest.raises(KeyRefused):
            await setup.admission.admit(key)

    async def test_is_refused_as_soon_as_it_expires(self, setup: AdmissionSetup) -> None:
        key, _ = await setup.issue(expires_at=NOON + 60)
        await setup.admit(key)
        setup.clock.advance(59.5)
        assert setup.admission.admit_known(key) is not None
        setup.clock.advance(0.5)
        assert setup.admission.admit_known(key) is None
        with pytest.raises(KeyRefused):
            await setup.admission.admit(key)

    async def test_that_is_renewed_is_admitted_again(self, setup: AdmissionSetup) -> None:
        key, subscription = await setup.issue(expires_at=NOON + 60)
        await setup.admit(key)
        setup.clock.advance(60)
        await setup.store.add_subscription(msgspec.structs.replace(subscription, expires_at=None))
        assert (await setup.admit(key)).subscription_id == subscription.id

    async def test_revoked_while_the_store_was_asked_is_not_remembered_as_good(self, setup: AdmissionSetup) -> None:
        key, subscription = await setup.issue()
        setup.store.held = asyncio.Event()
        admitting = asyncio.create_task(setup.admission.admit(key))
        await asyncio.sleep(0)
        await setup.store.revoke_subscription(subscription.id, setup.clock.now())
        setup.store.held.set()
        with pytest.raises(KeyRefused):
            await admitting
        assert setup.admission.admit_known(key) is None


class TestRecognising:
    async def test_says_until_when_a_key_is_good_without_counting(self, setup: AdmissionSetup) -> None:
        key, _ = await setup.issue(rate="1/minute", daily_quota=1, expires_at=NOON + 60)
        for _ in range(3):
            assert await setup.admission.recognise(key) == NOON + 60
        await setup.admit(key)
        await setup.refusal(key)
        assert await setup.admission.recognise(key) == NOON + 60

    async def test_a_key_without_an_end_does_not_expire(self, setup: AdmissionSetup) -> None:
        key, _ = await setup.issue()
        assert await setup.admission.recognise(key) == math.inf

    async def test_refuses_what_would_not_be_admitted(self, setup: AdmissionSetup) -> None:
        revoked, subscription = await setup.issue()
        await setup.admission.recognise(revoked)
        await setup.store.revoke_subscription(subscription.id, setup.clock.now())
        expired, _ = await setup.issue(expires_at=NOON)
        for key in (revoked, expired, b"unknown-key", b"", b"x" * 1_000):
            with pytest.raises(KeyRefused):
                await setup.admission.recognise(key)


class TestAKeyThatIsNotLetIn:
    async def test_gets_the_same_refusal_whether_unknown_revoked_expired_or_not_a_key(self, setup: AdmissionSetup) -> None:
        revoked, subscription = await setup.issue()
        await setup.store.revoke_subscription(subscription.id, setup.clock.now())
        expired, _ = await setup.issue(expires_at=NOON)
        messages = set()
        for key in (b"unknown", revoked, expired, b"", b"x" * 10_000, b"\xff\x00"):
            for _ in range(2):
                assert setup.admission.admit_known(key) is None
                with pytest.raises(KeyRefused) as caught:
                    await setup.admission.admit(key)
                messages.add(caught.value.message)
        assert len(messages) == 1

    async def test_is_not_looked_up_each_time_but_is_once_it_is_issued(self, setup: AdmissionSetup) -> None:
        key = new_key()
        for _ in range(5):
            with pytest.raises(KeyRefused):
                await setup.admission.admit(key.encode())
        assert setup.store.reads == ["subscription"]
        await setup.store.add_subscription(new_subscription("app", key, NOON))
        await setup.admission.admit(key.encode())

    @pytest.mark.slow
    async def test_fills_no_memory_however_many_come(self, setup: AdmissionSetup) -> None:
        good, _ = await setup.issue()
        await setup.admit(good)
        for number in (*range(3000), 3000 - 1024 - 1, 2999):
            with pytest.raises(KeyRefused):
                await setup.admission.admit(b"guess-%d" % number)
        # The oldest guesses were dropped from the cache, so one of them is looked up again.
        assert len(setup.store.reads) == 1 + 3000 + 1
        assert setup.admission.admit_known(good) is not None


class TestARate:
    async def test_refuses_beyond_it_and_recovers(self, setup: AdmissionSetup) -> None:
        key, _ = await setup.issue(rate="3/minute")
        await setup.admit(key)
        setup.clock.advance(20)
        await setup.admit_times(key, 2)
        refusal = await setup.refusal(key)
        assert refusal.retry_after == 40
        assert type(refusal.retry_after) is int
        setup.clock.advance(39)
        assert (await setup.refusal(key)).retry_after == 1
        setup.clock.advance(1)
        await setup.admit(key)
        await setup.refusal(key)
        setup.clock.advance(60)
        await setup.admit_times(key, 3)

    async def test_of_seconds_still_says_at_least_one_second(self, setup: AdmissionSetup) -> None:
        key, _ = await setup.issue(rate="1/second")
        await setup.admit(key)
        setup.clock.advance(0.9)
        assert (await setup.refusal(key)).retry_after == 1

    async def test_tells_what_remains_in_the_fields_of_the_draft_and_as_a_plain_number(self, setup: AdmissionSetup) -> None:
        key, _ = await setup.issue(rate="3/minute")
        assert (await setup.admit(key)).headers == (
            (b"ratelimit-policy", b'"rate";q=3;w=60'),
            (b"ratelimit", b'"rate";r=2;t=60'),
            (b"x-ratelimit-remaining", b"2"),
        )
        setup.clock.advance(10)
        await setup.admit_times(key, 2)
        assert dict((await setup.refusal(key)).headers) == {
            b"ratelimit-policy": b'"rate";q=3;w=60',
            b"ratelimit": b'"rate";r=0;t=50',
            b"x-ratelimit-remaining": b"0",
        }

    async def test_is_each_keys_own(self, setup: AdmissionSetup) -> None:
        one, _ = await setup.issue(rate="1/minute")
        two, _ = await setup.issue(rate="1/minute")
        await setup.admit(one)
        await setup.admit(two)
        await setup.refusal(one)

    async def test_is_not_reset_by_a_change_of_the_subscription(self, setup: AdmissionSetup) -> None:
        key, subscription = await setup.issue(rate="1/minute")
        await setup.admit(key)
        await setup.store.add_subscription(msgspec.structs.replace(subscription, name="renamed"))
        await setup.refusal(key)


class TestADailyQuota:
    async def test_refuses_beyond_it_until_midnight_utc(self, setup: AdmissionSetup) -> None:
        key, _ = await setup.issue(daily_quota=3)
        await setup.admit_times(key, 3)
        assert (await setup.refusal(key)).retry_after == 12 * 3600
        setup.clock.advance(12 * 3600 - 0.5)
        assert (await setup.refusal(key)).retry_after == 1
        setup.clock.advance(0.5)
        await setup.admit_times(key, 3)
        await setup.refusal(key)

    async def test_tells_what_remains(self, setup: AdmissionSetup) -> None:
        key, _ = await setup.issue(daily_quota=3, rate="10/second")
        assert (await setup.admit(key)).headers == (
            (b"ratelimit-policy", b'"rate";q=10;w=1, "day";q=3;w=86400'),
            (b"ratelimit", b'"rate";r=9;t=1, "day";r=2;t=43200'),
            (b"x-ratelimit-remaining", b"9"),
            (b"x-quota-remaining", b"2"),
        )
        await setup.admit_times(key, 2)
        refusal = await setup.refusal(key)
        assert dict(refusal.headers)[b"x-quota-remaining"] == b"0"

    async def test_survives_a_restart(self, setup: AdmissionSetup) -> None:
        key, subscription = await setup.issue(daily_quota=5)
        await setup.admission.start()
        await setup.admit_times(key, 3)
        await setup.admission.stop()
        assert setup.store.usage == {(subscription.id, "2026-11-15"): 3}
        setup.restart()
        headers = dict((await setup.admit(key)).headers)
        assert headers[b"x-quota-remaining"] == b"1"
        await setup.admit(key)
        await setup.refusal(key)

    async def test_is_used_up_neither_by_refused_requests_nor_by_those_beyond_the_rate(self, setup: AdmissionSetup) -> None:
        key, subscription = await setup.issue(daily_quota=2, rate="1/second")
        await setup.admit(key)
        for _ in range(5):
            assert "rate" in (await setup.refusal(key)).message
        setup.clock.advance(1)
        await setup.admit(key)
        setup.clock.advance(1)
        for _ in range(5):
            assert "quota" in (await setup.refusal(key)).message
        await setup.admission.stop()
        assert setup.store.usage == {(subscription.id, "2026-11-15"): 2}

    async def test_is_not_reset_by_a_change_of_the_subscription_and_a_new_quota_counts_at_once(
        self, setup: AdmissionSetup
    ) -> None:
        key, subscription = await setup.issue(daily_quota=2)
        await setup.admit_times(key, 2)
        await setup.store.add_subscription(msgspec.structs.replace(subscription, daily_quota=3))
        await setup.admit(key)
        await setup.refusal(key)

    async def test_is_shared_with_another_gateway_on_the_same_store(self, setup: AdmissionSetup) -> None:
        key, _ = await setup.issue(daily_quota=4)
        other = KeyAdmission(setup.store, setup.clock)
        await setup.admit(key)
        await other.admit(key)
        await other.admit(key)
        await other.stop()
        await setup.admission.stop()
        await setup.admit(key)
        await setup.refusal(key)

    async def test_counts_every_one_of_many_first_requests_at_once(self, setup: AdmissionSetup) -> None:
        key, subscription = await setup.issue(daily_quota=5)
        results = await asyncio.gather(*(setup.admit(key) for _ in range(20)), return_exceptions=True)
        assert sum(isinstance(it, Admitted) for it in results) == 5
        assert sum(isinstance(it, TooManyRequests) for it in results) == 15
        await setup.admission.stop()
        assert setup.store.usage == {(subscription.id, "2026-11-15"): 5}

    async def test_of_yesterday_is_written_to_yesterday(self, setup: AdmissionSetup) -> None:
        key, subscription = await setup.issue(daily_quota=5)
        await setup.admit_times(key, 2)
        setup.clock.advance(86_400)
        await setup.admit(key)
        await setup.admission.stop()
        assert setup.store.usage == {(subscription.id, "2026-11-15"): 2, (subscription.id, "2026-11-16"): 1}

    async def test_is_written_regularly_while_the_gateway_runs(self, setup: AdmissionSetup) -> None:
        setup.admission = KeyAdmission(setup.store, setup.clock, write_every=0.001)
        key, subscription = await setup.issue(daily_quota=5)
        await setup.admission.start()
        await setup.admit(key)
        async with asyncio.timeout(30):
            while not setup.store.usage:
                await asyncio.sleep(0.001)
        assert setup.store.usage == {(subscription.id, "2026-11-15"): 1}
        await setup.admission.stop()

    async def test_is_not_lost_when_a_write_fails(self, setup: AdmissionSetup, caplog: pytest.LogCaptureFixture) -> None:
        setup.admission = KeyAdmission(setup.store, setup.clock, write_every=0.001)
        key, subscription = await setup.issue(daily_quota=5)
        setup.store.failure = OSError("disk full")
        with caplog.at_level(logging.ERROR):
            await setup.admission.start()
            await setup.admit_times(key, 2)
            async with asyncio.timeout(30):
                while "not stored" not in caplog.text:
                    await asyncio.sleep(0.001)
        assert key.decode() not in caplog.text
        setup.store.failure = None
        await setup.admission.stop()
        assert setup.store.usage == {(subscription.id, "2026-11-15"): 2}
