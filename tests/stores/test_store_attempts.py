"""Login attempts and second factors are counted once, over all processes."""

import asyncio

import pytest
from sqlalchemy import select, text

from domogate.domain.attempts import Attempt, Limit
from domogate.stores import SqlStore, attempts
from domogate.stores.subject import reads
from domogate.stores.tables.identity import attempts as table
from support.clocks import NOW
from support.stores import ANNA, BRUNO, SMALL, OpenStore, a_session, an_id

ACCOUNT_LIMIT = Limit(allowance=3, first_wait=1.0, longest_wait=60.0, half_life=600.0)
ADDRESS_LIMIT = Limit(allowance=6, first_wait=1.0, longest_wait=60.0, half_life=600.0)
MONTH = 30 * 86_400.0


def an_attempt(account: str = "anna", address: str = "home") -> Attempt:
    return Attempt(f"a:{account}", f"n:{address}", f"f:{account}@{address}", ACCOUNT_LIMIT, ADDRESS_LIMIT, MONTH)


async def admit(store: SqlStore, attempt: Attempt, at: float) -> float:
    return (await store.admit_attempt(attempt, at)).seconds


async def fail(store: SqlStore, times: int, attempt: Attempt, at: float = NOW) -> None:
    for _ in range(times):
        assert await admit(store, attempt, at) == 0


async def kept(store: SqlStore) -> set[str]:
    return set(await reads(lambda connection: connection.execute(select(table.c.key)).scalars().all())(store))


@pytest.fixture
async def both(open_store: OpenStore, database_url: str) -> list[SqlStore]:
    """Two processes on one database."""
    opened = [await open_store(database_url) for _ in range(2)]
    await opened[0].import_estate(SMALL, prune=False)
    return opened


class TestAttempts:
    async def test_are_counted_across_processes(self, both: list[SqlStore]) -> None:
        for number in range(3):
            assert await admit(both[number % 2], an_attempt(), NOW) == 0
        assert [await admit(store, an_attempt(), NOW) for store in both] == [1.0, 1.0]
        assert await admit(both[1], an_attempt(), NOW + 1) == 0
        assert 1.9 < await admit(both[0], an_attempt(), NOW + 1) <= 2.0

    async def test_of_many_at_once_in_two_processes_gain_nothing(self, both: list[SqlStore]) -> None:
        waits = await asyncio.gather(*(admit(both[number % 2], an_attempt(), NOW) for number in range(40)))
        assert waits.count(0) == 3

    async def test_at_an_account_count_from_any_address(self, store: SqlStore) -> None:
        for number in range(3):
            await fail(store, 1, an_attempt(address=str(number)))
        assert await admit(store, an_attempt(address="another"), NOW) > 0

    async def test_from_an_address_count_at_any_account(self, store: SqlStore) -> None:
        for number in range(6):
            await fail(store, 1, an_attempt(account=str(number)))
        assert await admit(store, an_attempt(account="another"), NOW) > 0
        assert await admit(store, an_attempt("another", "elsewhere"), NOW) == 0
        waits = [await store.admit_attempt(an_attempt(account), NOW) for account in ("0", "another")]
        assert [(wait.of_account > 0, wait.of_address > 0) for wait in waits] == [(False, True), (False, True)]

    async def test_that_were_counted_with_a_clock_far_ahead_lock_nobody_out(self, store: SqlStore) -> None:
        await fail(store, 3, an_attempt(), NOW + MONTH)
        waits = [await admit(store, an_attempt(), NOW + seconds) for seconds in (0, 1, 2.5)]
        assert waits == [0, pytest.approx(1, abs=0.1), 0]

    async def test_during_a_wait_are_not_counted(self, store: SqlStore) -> None:
        await fail(store, 3, an_attempt())
        for _ in range(20):
            assert await admit(store, an_attempt(), NOW) == 1.0
        await fail(store, 1, an_attempt(), NOW + 1)

    async def test_that_succeed_reset_the_account_but_not_the_address(self, both: list[SqlStore]) -> None:
        for number in range(4):
            await fail(both[0], 1, an_attempt(account=str(number)))
        await fail(both[0], 2, an_attempt())
        await both[1].succeed_attempt(an_attempt(), NOW)
        assert await kept(both[0]) == {"f:anna@home", "n:home", *(f"a:{number}" for number in range(4))}
        await fail(both[0], 1, an_attempt())
        assert await admit(both[0], an_attempt(), NOW) > 0

    async def test_of_strangers_do_not_keep_the_owner_out_of_where_they_got_in_before(self, both: list[SqlStore]) -> None:
        await fail(both[0], 1, an_attempt())
        await both[0].succeed_attempt(an_attempt(), NOW)
        await fail(both[1], 3, an_attempt(address="elsewhere"))
        assert await admit(both[1], an_attempt(address="elsewhere"), NOW) > 0
        assert await admit(both[1], an_attempt(), NOW) == 0

    async def test_from_where_the_owner_got_in_are_slowed_down_all_the_same(self, store: SqlStore) -> None:
        await store.succeed_attempt(an_attempt(), NOW)
        await fail(store, 3, an_attempt())
        assert await admit(store, an_attempt(), NOW) > 0

    async def test_that_were_no_guess_are_taken_back(self, store: SqlStore) -> None:
        for _ in range(20):
            await fail(store, 1, an_attempt())
            await store.take_back_attempt(an_attempt(), NOW)
        assert await kept(store) == set()

    async def test_taken_back_leave_known_where_the_owner_got_in(self, store: SqlStore) -> None:
        await store.succeed_attempt(an_attempt(), NOW)
        await fail(store, 1, an_attempt())
        await store.take_back_attempt(an_attempt(), NOW)
        assert await kept(store) == {"f:anna@home"}

    async def test_come_and_go_with_the_session_they_led_to(self, filled_store: SqlStore) -> None:
        await fail(filled_store, 1, an_attempt())
        assert await filled_store.add_session(a_session(70), taken_back=an_attempt())
        assert await kept(filled_store) == set()
        await fail(filled_store, 1, an_attempt())
        commits = filled_store.commits
        assert await filled_store.add_session(a_session(71), succeeded=[an_attempt()])
        assert filled_store.commits == commits + 1
        assert await kept(filled_store) == {"f:anna@home"}


class TestForgetting:
    async def test_what_hardly_counts_any_more_is_pruned_and_where_an_owner_got_in_a_month_later(self, store: SqlStore) -> None:
        await fail(store, 2, an_attempt())
        await fail(store, 1, an_attempt("bruno"))
        await store.succeed_attempt(an_attempt("bruno"), NOW)
        await store.prune_authorization(NOW + 599)
        assert await kept(store) == {"a:anna", "n:home", "f:bruno@home"}
        await store.prune_authorization(NOW + 10_000)
        assert await kept(store) == {"f:bruno@home"}
        await fail(store, 1, an_attempt("bruno"), NOW + MONTH - 1)
        await store.prune_authorization(NOW + MONTH + 10_000)
        assert await kept(store) == set()

    async def test_each_attempt_takes_some_with_it_that_have_expired(self, store: SqlStore) -> None:
        for number in range(20):
            await fail(store, 1, an_attempt(str(number), str(number)))
        assert len(await kept(store)) == 40
        for seconds in range(4):
            await fail(store, 1, an_attempt(), NOW + 10_000 + seconds)
        assert await kept(store) == {"a:anna", "n:home"}

    async def test_there_are_never_more_than_the_bound_for_long(self, store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(attempts, "MOST_KEPT", 10)
        monkeypatch.setattr(attempts, "PRUNE_CHUNK", 4)
        await store.succeed_attempt(an_attempt(), NOW)
        for number in range(20):
            await fail(store, 1, an_attempt(str(number), str(number)))
        await store.prune_authorization(NOW)
        left = await kept(store)
        assert len(left) == 10
        assert "f:anna@home" in left  # the attempts that expire first are removed first


class TestCodesOfASecondFactor:
    async def test_are_used_once_across_processes(self, both: list[SqlStore]) -> None:
        used = await asyncio.gather(*(both[number % 2].use_totp_step(ANNA.id, 60_000_000) for number in range(40)))
        assert used.count(True) == 1

    async def test_are_used_in_their_order_only(self, filled_store: SqlStore) -> None:
        assert [await filled_store.use_totp_step(ANNA.id, step) for step in (5, 4, 5, 6)] == [True, False, False, True]
        assert await filled_store.use_totp_step(BRUNO.id, 5)

    async def test_codes_of_an_unknown_user_cannot_be_used(self, filled_store: SqlStore) -> None:
        assert not await filled_store.use_totp_step(an_id(404), 5)

    async def test_that_were_used_add_no_session_and_nothing_that_goes_with_it(self, both: list[SqlStore]) -> None:
        await fail(both[0], 1, an_attempt())
        sessions = [a_session(70 + number) for number in range(20)]
        added = await asyncio.gather(
            *(both[n % 2].add_session(session, totp_step=7, succeeded=[an_attempt()]) for n, session in enumerate(sessions))
        )
        assert added.count(True) == 1
        (session,) = await both[0].list_sessions(ANNA.id)
        assert session == sessions[added.index(True)]
        await fail(both[0], 1, an_attempt("bruno"))
        await both[0].use_totp_step(BRUNO.id, 7)
        assert not await both[1].add_session(a_session(90, BRUNO), totp_step=7, succeeded=[an_attempt("bruno")])
        assert "a:bruno" in await kept(both[0])

    async def test_go_with_their_user(self, filled_store: SqlStore) -> None:
        await filled_store.use_totp_step(BRUNO.id, 5)
        assert await filled_store.delete_user(BRUNO.id)
        left = await reads(lambda connection: connection.execute(text("SELECT count(*) FROM totp_steps")).scalar())(
            filled_store
        )
        assert left == 0
