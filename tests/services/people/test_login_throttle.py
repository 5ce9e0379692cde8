"""The keys of attempts, and the waits that a gateway caches. Counting: tests/stores/test_store_attempts.py."""

import math
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from domogate.domain.attempts import Attempt, Wait
from domogate.services.people import LoginThrottle
from support.clocks import ManualClock
from support.examples import examples

HOME, ELSEWHERE = "192.0.2.1", "198.51.100.9"
ANNA, BRUNO = "anna@example.com", "bruno@example.com"


class FakeAttempts:
    """The part of the store that a throttle needs. It returns `wait` and records the calls."""

    def __init__(self, wait: float = 0.0, of_address: float = 0.0) -> None:
        self.wait = wait
        self.of_address = of_address
        self.admitted: list[Attempt] = []
        self.succeeded: list[Attempt] = []

    async def admit_attempt(self, attempt: Attempt, at: float) -> Wait:
        self.admitted.append(attempt)
        return Wait(self.wait, self.of_address)

    async def succeed_attempt(self, attempt: Attempt, at: float) -> None:
        self.succeeded.append(attempt)


def new_throttle(store: FakeAttempts, clock: ManualClock, **options: Any) -> LoginThrottle:
    needed: Any = store  # it has the methods that the throttle uses
    return LoginThrottle(needed, clock, **options)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store() -> FakeAttempts:
    return FakeAttempts()


@pytest.fixture
def throttle(store: FakeAttempts, clock: ManualClock) -> LoginThrottle:
    return new_throttle(store, clock)


class TestKeys:
    def test_of_an_account_are_the_same_in_any_case_of_its_letters(self, throttle: LoginThrottle) -> None:
        assert throttle.attempt(ANNA.upper(), HOME) == throttle.attempt(ANNA, HOME)
        assert throttle.attempt(ANNA, HOME).account == throttle.attempt(ANNA, ELSEWHERE).account
        assert throttle.attempt(ANNA, HOME).account != throttle.attempt(BRUNO, HOME).account

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
            ("::ffff:192.0.2.1", "192.0.2.1", True),
            ("192.0.2.1", "192.0.2.2", False),
            ("fe80::1%eth0", "fe80::2", True),
            ("", "", True),
            ("unix", "unix", True),
        ],
    )
    def test_of_an_address_are_those_of_a_whole_network_of_ipv6(
        self, throttle: LoginThrottle, one: str, other: str, same: bool
    ) -> None:
        here, there = throttle.attempt(ANNA, one), throttle.attempt(ANNA, other)
        assert (here.address == there.address) is same
        assert (here.familiar == there.familiar) is same

    def test_tell_neither_and_are_of_one_size(self, throttle: LoginThrottle) -> None:
        for account in (ANNA, "", "x" * 5000, "\ud800"):
            attempt = throttle.attempt(account, HOME)
            assert [len(key) for key in (attempt.account, attempt.address, attempt.familiar)] == [32, 32, 32]
            assert "anna" not in repr(attempt)
            assert HOME not in repr(attempt)

    def test_never_meet_those_of_another_kind_or_purpose(self, store: FakeAttempts, clock: ManualClock) -> None:
        keys = [
            key
            for purpose in ("login", "forgotten")
            for attempt in [new_throttle(store, clock, purpose=purpose).attempt(HOME, HOME)]
            for key in (attempt.account, attempt.address, attempt.familiar)
        ]
        assert len(set(keys)) == 6


class TestAdmitting:
    async def test_is_the_stores_to_say(self, throttle: LoginThrottle, store: FakeAttempts) -> None:
        assert await throttle.admit(ANNA, HOME) == 0
        store.wait = 2.5
        assert await throttle.admit(ANNA, HOME) == 2.5
        assert store.admitted == [throttle.attempt(ANNA, HOME)] * 2

    async def test_attempts_during_a_wait_cause_no_write(
        self, throttle: LoginThrottle, store: FakeAttempts, clock: ManualClock
    ) -> None:
        store.wait = 8.0
        assert await throttle.admit(ANNA, HOME) == 8.0
        clock.at += 5
        for _ in range(100):
            assert await throttle.admit(ANNA, HOME) == 3.0
        assert len(store.admitted) == 1
        clock.at += 3
        store.wait = 0.0
        assert await throttle.admit(ANNA, HOME) == 0

    async def test_others_are_asked_for_meanwhile(self, throttle: LoginThrottle, store: FakeAttempts) -> None:
        store.wait = 8.0
        await throttle.admit(ANNA, HOME)
        store.wait = 0.0
        assert await throttle.admit(ANNA, ELSEWHERE) == 0
        assert await throttle.admit(BRUNO, HOME) == 0

    async def test_a_wait_of_the_address_is_known_for_every_account(
        self, throttle: LoginThrottle, store: FakeAttempts, clock: ManualClock
    ) -> None:
        store.of_address = 8.0
        assert await throttle.admit(ANNA, HOME) == 8.0
        for number in range(100):
            assert await throttle.admit(f"{number}@example.com", HOME) == 8.0
        assert len(store.admitted) == 1
        store.of_address = 0.0
        assert await throttle.admit(ANNA, ELSEWHERE) == 0
        clock.at += 8
        assert await throttle.admit(ANNA, HOME) == 0

    async def test_a_clock_that_is_set_back_makes_nobody_wait_longer(
        self, throttle: LoginThrottle, store: FakeAttempts, clock: ManualClock
    ) -> None:
        store.wait = 8.0
        await throttle.admit(ANNA, HOME)
        clock.at -= 86_400
        store.wait = 4.0
        assert await throttle.admit(ANNA, HOME) == 4.0

    async def test_a_success_is_told_and_ends_the_wait(self, throttle: LoginThrottle, store: FakeAttempts) -> None:
        store.wait = 8.0
        await throttle.admit(ANNA, HOME)
        await throttle.succeed(ANNA, HOME)
        store.wait = 0.0
        assert await throttle.admit(ANNA, HOME) == 0
        assert store.succeeded == [throttle.attempt(ANNA, HOME)]

    @settings(max_examples=examples(30))
    @given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=40), st.floats(0, 900)), max_size=60))
    async def test_the_memory_is_bounded_whatever_is_tried(self, attempts: list[tuple[str, str, float]]) -> None:
        store = FakeAttempts()
        throttle = new_throttle(store, ManualClock(), capacity=5)
        for account, address, store.wait in attempts:
            assert math.isfinite(await throttle.admit(account, address))
        assert len(throttle) <= 5
