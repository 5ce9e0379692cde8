import asyncio
import os
import sys
import threading
import unicodedata
from collections.abc import Iterator
from typing import Any, Literal

import argon2
import pytest

from domogate.domain.passwords import find_password_problem
from domogate.identity import hashing
from domogate.identity.hashing import PasswordHasher


@pytest.fixture
def hasher() -> Iterator[PasswordHasher]:
    hasher = PasswordHasher(memory_kib=64, passes=1)
    yield hasher
    hasher.close()


class TestPasswordHasher:
    async def test_a_password_verifies_against_its_hash_and_no_other_does(self, hasher: PasswordHasher) -> None:
        password_hash = await hasher.hash_password("correct horse")
        assert password_hash.startswith("$argon2id$")
        assert "horse" not in password_hash
        assert await hasher.verify_password("correct horse", password_hash)
        for wrong in ("", "correct hors", "Correct horse", "correct horse ", "\ud800"):
            assert not await hasher.verify_password(wrong, password_hash)

    async def test_two_hashes_of_one_password_differ(self, hasher: PasswordHasher) -> None:
        assert await hasher.hash_password("x") != await hasher.hash_password("x")

    async def test_the_same_letters_composed_otherwise_are_the_same_password(self, hasher: PasswordHasher) -> None:
        assert await hasher.verify_password("cafe\u0301", await hasher.hash_password("caf\u00e9"))

    async def test_the_longest_password_may_be_typed_with_separate_accents(self, hasher: PasswordHasher) -> None:
        typed = 200 * "\u03b1\u0313\u0300\u0345"
        assert find_password_problem(typed + ".", "") is not None
        assert await hasher.verify_password(typed, await hasher.hash_password(200 * "\u1f82"))

    async def test_a_very_long_text_is_not_normalised(self, hasher: PasswordHasher, monkeypatch: pytest.MonkeyPatch) -> None:
        """The time to normalise accents grows with the square of their number, and the whole process waits for it."""
        password_hash = await hasher.hash_password("correct horse")
        lengths, normalize = [0], unicodedata.normalize

        def note_length(form: Literal["NFC"], text: str) -> str:
            lengths.append(len(text))
            return normalize(form, text)

        monkeypatch.setattr(unicodedata, "normalize", note_length)
        long = "a" + 1_000 * "\u0301\u0316"
        assert not await hasher.verify_password(long, password_hash)
        assert find_password_problem(long, "") == "The password is too long: it may have 200 characters at most."
        with pytest.raises(ValueError, match="too long"):
            await hasher.hash_password(long)
        assert max(lengths) <= 1_000

    async def test_an_unknown_user_costs_the_same_work_as_a_wrong_password(
        self, hasher: PasswordHasher, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        verified: list[argon2.Parameters] = []
        original = argon2.PasswordHasher.verify

        def spy(self: Any, password_hash: str, password: str) -> Any:
            verified.append(argon2.extract_parameters(password_hash))
            return original(self, password_hash, password)

        monkeypatch.setattr(argon2.PasswordHasher, "verify", spy)
        assert not await hasher.verify_password("guess", None)
        assert not await hasher.verify_password("guess", await hasher.hash_password("other"))
        assert len(verified) == 2
        assert verified[0] == verified[1]

    async def test_the_dummy_password_does_not_log_anybody_in(self, hasher: PasswordHasher) -> None:
        assert not await hasher.verify_password("nobody has this password", None)

    async def test_a_text_that_is_not_unicode_is_refused(self, hasher: PasswordHasher) -> None:
        with pytest.raises(ValueError, match="surrogates"):
            await hasher.hash_password("\ud800")

    async def test_at_most_two_threads_work_and_never_the_event_loops(
        self, hasher: PasswordHasher, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: set[int] = set()
        niceness: set[int] = set()
        policies: set[int] = set()
        original = argon2.PasswordHasher.hash

        def spy(self: Any, password: str) -> str:
            seen.add(threading.get_ident())
            niceness.add(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
            if sys.platform == "linux":
                policies.add(os.sched_getscheduler(0))
            return original(self, password)

        monkeypatch.setattr(argon2.PasswordHasher, "hash", spy)
        before = os.getpriority(os.PRIO_PROCESS, 0)
        await asyncio.gather(*(hasher.hash_password("x") for _ in range(8)))
        assert 1 <= len(seen) <= 2
        assert threading.get_ident() not in seen
        if sys.platform == "linux":
            assert min(niceness) >= 10
            assert policies == {os.SCHED_BATCH}
            assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before

    async def test_the_default_cost_is_no_less_than_recommended(self) -> None:
        hasher = PasswordHasher()
        parameters = argon2.extract_parameters(await hasher.hash_password("x"))
        hasher.close()
        assert (parameters.memory_cost, parameters.time_cost, parameters.parallelism) == (19_456, 2, 1)


class FakeTime:
    """Replaces the module `time`: time passes only when the test moves it, and sleeps are recorded."""

    def __init__(self) -> None:
        self.at = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds


class TestARest:
    """The pause between two passwords leaves time for other work (Decision 0032)."""

    @pytest.fixture
    def hours(self, monkeypatch: pytest.MonkeyPatch) -> FakeTime:
        hours = FakeTime()
        monkeypatch.setattr(hashing, "time", hours)
        return hours

    @pytest.fixture
    async def known(self, hasher: PasswordHasher) -> str:
        return await hasher.hash_password("x")

    def taking(self, seconds: float, hours: FakeTime, monkeypatch: pytest.MonkeyPatch) -> None:
        def verify(_self: Any, _password_hash: str, _password: str) -> bool:
            hours.at += seconds
            return True

        monkeypatch.setattr(argon2.PasswordHasher, "verify", verify)

    async def test_is_three_quarters_of_what_the_one_before_took(
        self, hasher: PasswordHasher, known: str, hours: FakeTime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.taking(0.1, hours, monkeypatch)
        for _ in range(3):
            assert await hasher.verify_password("x", known)
        assert hours.slept == [pytest.approx(0.075)] * 2

    async def test_does_not_delay_later_callers(
        self, hasher: PasswordHasher, known: str, hours: FakeTime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.taking(0.1, hours, monkeypatch)
        for _ in range(3):
            await hasher.verify_password("x", known)
            hours.at += 0.1
        assert hours.slept == []

    async def test_is_short_although_the_machine_stood_still_meanwhile(
        self, hasher: PasswordHasher, known: str, hours: FakeTime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If the machine was suspended for an hour, the pause must not be 45 minutes."""
        self.taking(3600.0, hours, monkeypatch)
        await hasher.verify_password("x", known)
        await hasher.verify_password("x", known)
        assert hours.slept == [pytest.approx(0.5)]
