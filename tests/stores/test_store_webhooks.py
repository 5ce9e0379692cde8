"""Webhooks: one for each URL, every change of them is in the feed, and no pending delivery is lost."""

import asyncio
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given
from sqlalchemy import select

from domogate.domain.events import Change, Event, PlantChanged, StateChanged, WebhookChanged
from domogate.domain.notices import NoticeKind
from domogate.domain.states import LightState, Report
from domogate.domain.webhooks import PendingDelivery, TooManyWebhooks, Webhook, WebhookFormat
from domogate.stores import SqlStore
from domogate.stores.codec import decode_event, to_json
from domogate.stores.opening import open_database
from domogate.stores.tables.notices import parked
from support.clocks import NOW, ManualClock
from support.stores import ANNA, APP, BRUNO, CARLA, HOUSE, LAMP, PLUG, OpenStore, an_id, record_changes

URL = "https://receiver.example/hook"


def a_webhook(number: int = 700, **fields: Any) -> Webhook:
    told: dict[str, Any] = {
        "id": an_id(number), "client_id": APP.id, "user_id": ANNA.id, "grant_id": an_id(5), "plant_id": HOUSE.id,
        "url": URL, "secret": "whsec_AAAA", "created_at": NOW + number, "position": 3,
        "scopes": ("light.read", "plug.read"),
    }  # fmt: skip
    return Webhook(**{**told, **fields})


def a_parked(cursor: int, webhook: Webhook, **fields: Any) -> PendingDelivery:
    event = StateChanged(plant_id=HOUSE.id, module_id=LAMP.id, state=LightState(on=True), reachable=True, at=NOW)
    told: dict[str, Any] = {"module_id": LAMP.id, "attempts": 1, "next_at": NOW + 5, "problem": "It answered 500."}
    return PendingDelivery(webhook_id=webhook.id, change=Change(cursor, NOW, event), **{**told, **fields})


@pytest.fixture
async def hooked(filled_store: SqlStore) -> SqlStore:
    assert await filled_store.add_webhook(a_webhook())
    return filled_store


class TestAdding:
    async def test_what_was_added_is_found_as_it_was(self, filled_store: SqlStore) -> None:
        full = a_webhook(kinds=(NoticeKind.STATE, NoticeKind.SAFETY), form=WebhookFormat.THERMOSTAT)
        assert await filled_store.add_webhook(full)
        assert await filled_store.find_webhook(full.id) == full

    async def test_a_second_one_for_the_same_address_is_not_added(self, hooked: SqlStore) -> None:
        assert not await hooked.add_webhook(a_webhook(701))
        assert await hooked.find_webhook(an_id(701)) is None

    async def test_of_many_at_once_exactly_one_is_added(self, filled_store: SqlStore) -> None:
        added = await asyncio.gather(*(filled_store.add_webhook(a_webhook(700 + n)) for n in range(20)))
        assert added.count(True) == 1

    @pytest.mark.parametrize(
        "other", [{"url": f"{URL}/2"}, {"client_id": "other"}, {"user_id": BRUNO.id}], ids=["url", "client", "user"]
    )
    async def test_another_address_application_or_person_has_its_own(self, hooked: SqlStore, other: dict[str, Any]) -> None:
        assert await hooked.add_webhook(a_webhook(701, **other))

    async def test_there_is_one_of_the_thermostat_form_for_a_plant_whatever_its_address(self, hooked: SqlStore) -> None:
        of_thermostats = {"form": WebhookFormat.THERMOSTAT}
        assert await hooked.add_webhook(a_webhook(701, url=f"{URL}/a", **of_thermostats))
        assert not await hooked.add_webhook(a_webhook(702, url=f"{URL}/b", **of_thermostats))

    async def test_one_that_has_ended_is_replaced(self, hooked: SqlStore) -> None:
        assert await hooked.end_webhook(an_id(700), "gone", NOW)
        assert await hooked.add_webhook(a_webhook(701))
        assert [one.id for one in await hooked.list_webhooks()] == [an_id(701)]

    async def test_there_are_at_most_so_many_that_have_not_ended_however_many_processes_add_them(
        self, open_store: OpenStore, filled_store: SqlStore, database_url: str
    ) -> None:
        both = [filled_store, await open_store(database_url)]
        wanted = [a_webhook(700 + n, url=f"{URL}/{n}") for n in range(8)]
        added = await asyncio.gather(
            *(both[n % 2].add_webhook(webhook, most=3) for n, webhook in enumerate(wanted)), return_exceptions=True
        )
        assert added.count(True) == 3
        assert sum(isinstance(one, TooManyWebhooks) for one in added) == 5
        assert await filled_store.add_webhook(a_webhook(720, client_id="other"), most=3)
        living = next(one.id for one in await filled_store.list_webhooks(client_id=a_webhook().client_id))
        await filled_store.end_webhook(living, "gone", NOW)
        assert await filled_store.add_webhook(a_webhook(721, url=f"{URL}/again"), most=3)

    @pytest.mark.parametrize("nobody", [{"user_id": an_id(999)}, {"plant_id": an_id(999)}])
    async def test_nobody_and_nowhere_have_none(self, filled_store: SqlStore, nobody: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="no row with the id"):
            await filled_store.add_webhook(a_webhook(**nobody))


class TestListing:
    async def test_all_or_those_that_match_the_oldest_first(self, hooked: SqlStore) -> None:
        await hooked.add_webhook(a_webhook(690, client_id="other"))
        await hooked.add_webhook(a_webhook(710, user_id=BRUNO.id))
        assert [one.id for one in await hooked.list_webhooks()] == [an_id(690), an_id(700), an_id(710)]
        assert [one.id for one in await hooked.list_webhooks(client_id=APP.id, user_id=ANNA.id)] == [an_id(700)]
        assert await hooked.list_webhooks(plant_id=an_id(999)) == []

    async def test_only_active_ones_of_wanted_plants_are_read_to_be_delivered(self, hooked: SqlStore) -> None:
        await hooked.add_webhook(a_webhook(690, client_id="other"))
        await hooked.end_webhook(an_id(690), "gone", NOW)
        assert await hooked.list_active_webhooks(lambda plant_id: plant_id == HOUSE.id) == [a_webhook()]
        assert await hooked.list_active_webhooks(lambda plant_id: plant_id != HOUSE.id) == []

    async def test_every_change_of_one_is_in_the_feed(self, hooked: SqlStore) -> None:
        recorded = record_changes(hooked)
        await hooked.add_webhook(a_webhook(701, client_id="other"))
        await hooked.set_webhook_secret(an_id(700), "whsec_BBBB")
        await hooked.save_pending(a_webhook(), a_parked(4, a_webhook(), dead_at=NOW))
        await hooked.replay_dead(an_id(700), None, NOW)
        await hooked.end_webhook(an_id(700), "gone", NOW)
        await hooked.delete_webhook(an_id(700))
        assert await hooked.delete_webhook(an_id(999)) is False
        numbers = (701, 700, 700, 700, 700)
        assert recorded.events == [WebhookChanged(webhook_id=an_id(number), of_plant=HOUSE.id) for number in numbers]

    async def test_they_go_with_their_user(self, hooked: SqlStore) -> None:
        await hooked.add_webhook(a_webhook(701, user_id=CARLA.id))
        await hooked.save_pending(a_webhook(701), a_parked(4, a_webhook(701)))
        await hooked.delete_user(CARLA.id)
        assert [one.id for one in await hooked.list_webhooks()] == [an_id(700)]

    async def test_a_deleted_one_takes_everything_with_it(self, hooked: SqlStore) -> None:
        await hooked.save_pending(a_webhook(), a_parked(4, a_webhook()))
        assert await hooked.delete_webhook(an_id(700))
        assert not await hooked.delete_webhook(an_id(700))
        assert await hooked.list_pending(an_id(700), dead=False, limit=9) == []

    async def test_a_secret_is_replaced_while_the_webhook_lives(self, hooked: SqlStore) -> None:
        assert await hooked.set_webhook_secret(an_id(700), "whsec_BBBB")
        found = await hooked.find_webhook(an_id(700))
        assert found is not None
        assert found.secret == "whsec_BBBB"
        await hooked.end_webhook(an_id(700), "gone", NOW)
        assert not await hooked.set_webhook_secret(an_id(700), "whsec_CCCC")


class TestMoving:
    async def test_one_that_has_ended_or_never_was_is_not_moved(self, hooked: SqlStore) -> None:
        assert await hooked.end_webhook(an_id(700), "gone", NOW)
        assert not await hooked.end_webhook(an_id(700), "again", NOW)
        ended = await hooked.find_webhook(an_id(700))
        for webhook in (a_webhook(), a_webhook(999)):
            assert not await hooked.move_webhook(webhook, 9, [a_parked(8, webhook)])
            assert not await hooked.hold_webhook(webhook, [a_parked(8, webhook, dead_at=NOW)])
        assert await hooked.find_webhook(an_id(700)) == ended
        for dead in (False, True):
            assert await hooked.list_pending(an_id(700), dead=dead, limit=9) == []

    async def test_a_move_keeps_what_was_not_taken_in_the_same_write(self, hooked: SqlStore) -> None:
        left = [a_parked(8, a_webhook()), a_parked(7, a_webhook(), module_id=None)]
        before = hooked.commits
        assert await hooked.move_webhook(a_webhook(), 9, left)
        assert hooked.commits - before == 1
        assert await hooked.list_pending(an_id(700), dead=False, limit=9) == left[::-1]

    async def test_a_receiver_that_is_away_is_counted_until_it_is_back(self, hooked: SqlStore) -> None:
        failing = a_webhook(failing_since=NOW, failures=2, next_at=NOW + 15, problem="still\0away")
        await hooked.hold_webhook(failing)
        stored = msgspec.structs.replace(failing, problem="still\N{REPLACEMENT CHARACTER}away")
        assert await hooked.find_webhook(an_id(700)) == stored
        await hooked.move_webhook(a_webhook(), 12)
        assert await hooked.find_webhook(an_id(700)) == a_webhook(position=12)

    async def test_a_webhook_that_waits_for_its_user_does_not_count_as_failing(self, hooked: SqlStore) -> None:
        waiting = a_webhook(next_at=NOW + 5, problem="terms")
        await hooked.hold_webhook(waiting)
        assert await hooked.find_webhook(an_id(700)) == waiting
        assert (await hooked.count_figures(0.0)).failing_webhooks == 0

    async def test_events_that_are_given_up_and_the_failure_are_one_write(self, hooked: SqlStore) -> None:
        failing = a_webhook(position=9, failing_since=NOW, failures=3, next_at=NOW + 5, problem="away")
        dead = [a_parked(8, a_webhook(), dead_at=NOW)]
        before = hooked.commits
        assert await hooked.hold_webhook(failing, dead)
        assert hooked.commits - before == 1
        assert await hooked.find_webhook(an_id(700)) == failing
        assert await hooked.list_pending(an_id(700), dead=True, limit=9) == dead

    async def test_many_moves_at_once_share_a_write_and_each_is_answered_for_itself(self, hooked: SqlStore) -> None:
        others = [a_webhook(number, url=f"https://example.com/{number}") for number in range(710, 720)]
        for webhook in others:
            assert await hooked.add_webhook(webhook)
        assert await hooked.end_webhook(others[3].id, "gone", NOW)
        before = hooked.commits
        moved = await asyncio.gather(*(hooked.move_webhook(webhook, 12) for webhook in (*others, a_webhook(999))))
        assert hooked.commits - before <= 2
        assert moved == [True] * 3 + [False] + [True] * 6 + [False]
        found = [await hooked.find_webhook(webhook.id) for webhook in others]
        assert [webhook.position == 12 for webhook in found if webhook is not None] == [True] * 3 + [False] + [True] * 6

    async def test_a_cancelled_move_does_not_affect_the_moves_that_share_its_write(self, hooked: SqlStore) -> None:
        other = a_webhook(710, url="https://example.com/710")
        await hooked.add_webhook(other)
        first, cancelled, second = (
            asyncio.create_task(hooked.move_webhook(webhook, position))
            for webhook, position in ((a_webhook(), 12), (a_webhook(), 13), (other, 14))
        )
        await asyncio.sleep(0)
        cancelled.cancel()
        assert all(await asyncio.gather(first, second))
        found = [await hooked.find_webhook(number) for number in (an_id(700), an_id(710))]
        assert [webhook.position for webhook in found if webhook is not None] == [12, 14]


class TestParking:
    async def test_by_cursor_in_pages_and_only_those_that_are_due(self, hooked: SqlStore) -> None:
        items = [a_parked(cursor, a_webhook(), next_at=NOW + cursor) for cursor in (6, 5, 4)]
        for item in items:
            await hooked.save_pending(a_webhook(), item)
        assert await hooked.list_pending(an_id(700), dead=False, limit=2) == [items[2], items[1]]
        assert await hooked.list_pending(an_id(700), dead=False, after=5, limit=2) == [items[0]]
        assert await hooked.list_pending(an_id(700), dead=False, limit=9, due_at=NOW + 5) == [items[2], items[1]]

    async def test_parking_again_replaces(self, hooked: SqlStore) -> None:
        await hooked.save_pending(a_webhook(), a_parked(4, a_webhook()))
        again = a_parked(4, a_webhook(), attempts=2, next_at=NOW + 10, problem="It answered 502.")
        await hooked.save_pending(a_webhook(), again)
        assert await hooked.list_pending(an_id(700), dead=False, limit=9) == [again]
        assert await hooked.remove_pending(a_webhook(), 4)
        assert not await hooked.remove_pending(a_webhook(), 4)

    async def test_dead_letters_are_listed_apart_and_can_be_replayed(self, hooked: SqlStore) -> None:
        for cursor in (4, 5, 6):
            await hooked.save_pending(a_webhook(), a_parked(cursor, a_webhook(), dead_at=NOW + cursor, attempts=9))
        assert await hooked.list_pending(an_id(700), dead=False, limit=9) == []
        assert await hooked.replay_dead(an_id(700), [5, 77], NOW + 50) == 1
        living = await hooked.list_pending(an_id(700), dead=False, limit=9)
        assert living == [a_parked(5, a_webhook(), attempts=0, next_at=NOW + 50)]
        assert await hooked.replay_dead(an_id(700), [], NOW) == 0
        assert await hooked.replay_dead(an_id(700), None, NOW + 60) == 2
        assert await hooked.list_pending(an_id(700), dead=True, limit=9) == []

    async def test_what_waits_behind_another_comes_when_that_is_out_of_the_way(self, hooked: SqlStore) -> None:
        first, second, third = (
            a_parked(n, a_webhook(), next_at=NOW + 5 if n == 4 else 1e12, attempts=n == 4) for n in (4, 5, 6)
        )
        of_plug = a_parked(7, a_webhook(), module_id=PLUG.id, next_at=NOW + 50)
        of_plant = [a_parked(n, a_webhook(), module_id=None, next_at=1e12) for n in (8, 9)]
        await hooked.move_webhook(a_webhook(), 9, [first, second, third, of_plug, *of_plant])
        found = await hooked.find_webhook(an_id(700))
        assert found is not None
        assert (found.next_at, found.problem) == (NOW + 5, "It answered 500.")
        await hooked.remove_pending(a_webhook(), 4)
        await hooked.remove_pending(a_webhook(), 8)
        due = await hooked.list_pending(an_id(700), dead=False, limit=9, due_at=NOW + 10)
        assert [item.change.cursor for item in due] == [5, 9]
        await hooked.save_pending(a_webhook(), a_parked(5, a_webhook(), dead_at=NOW + 20, next_at=NOW + 20))
        heads = await hooked.list_pending(an_id(700), dead=False, limit=9, due_at=1e11)
        assert [(item.change.cursor, item.next_at) for item in heads] == [
            (6, NOW + 20),
            (7, NOW + 50),
            (9, NOW),
        ]

    async def test_what_is_wrong_is_said_for_as_long_as_something_waits_because_of_it(self, hooked: SqlStore) -> None:
        async def problem_after(position: int, *items: PendingDelivery) -> str:
            await hooked.move_webhook(a_webhook(), position, items)
            found = await hooked.find_webhook(an_id(700))
            assert found is not None
            return found.problem

        behind = a_parked(5, a_webhook(), attempts=0, next_at=1e12, problem="It waits behind another.")
        assert await problem_after(5, a_parked(4, a_webhook()), behind) == "It answered 500."
        assert await problem_after(6) == "It answered 500."
        await hooked.remove_pending(a_webhook(), 4)
        assert await problem_after(7) == ""
        assert await problem_after(8, a_parked(8, a_webhook(), dead_at=NOW, problem="It is gone.")) == "It is gone."
        assert await problem_after(9) == ""

    async def test_a_replay_is_seen_in_the_row_of_the_webhook(self, hooked: SqlStore) -> None:
        await hooked.save_pending(a_webhook(), a_parked(4, a_webhook(), dead_at=NOW))
        await hooked.replay_dead(an_id(700), None, NOW + 7)
        found = await hooked.find_webhook(an_id(700))
        assert found is not None
        assert found.next_at == NOW + 7

    async def test_an_end_forgets_what_waited_and_keeps_the_dead(self, hooked: SqlStore) -> None:
        dead = a_parked(4, a_webhook(), dead_at=NOW)
        await hooked.save_pending(a_webhook(), dead)
        await hooked.save_pending(a_webhook(), a_parked(5, a_webhook()))
        await hooked.end_webhook(an_id(700), "the right was withdrawn", NOW)
        await hooked.save_pending(a_webhook(), a_parked(6, a_webhook()))
        assert await hooked.list_pending(an_id(700), dead=False, limit=9) == []
        assert await hooked.list_pending(an_id(700), dead=True, limit=9) == [dead]

    async def test_a_change_of_the_feed_is_not_copied_until_it_is_pruned(
        self, hooked: SqlStore, database_url: str, clock: ManualClock
    ) -> None:
        await hooked.record([Report(HOUSE.id, LAMP.id, clock.now(), LightState(on=level % 2 == 0)) for level in range(3)])
        *referred, _ = await hooked.list_changes(await hooked.newest_cursor() - 3, 3)
        items = [msgspec.structs.replace(a_parked(change.cursor, a_webhook()), change=change) for change in referred]
        older = a_parked(
            referred[-1].cursor + 1_000_000, a_webhook()
        )  # A copy that an earlier version stored: the feed does not have it.
        for item in (*items, older):
            await hooked.save_pending(a_webhook(), item)
        assert await _read_events(database_url) == ["", "", to_json(older.change.event)]
        await hooked.prune_changes(clock.now() + 1)
        assert await hooked.feed_span() == (referred[-1].cursor + 1, referred[-1].cursor + 1)
        assert await _read_events(database_url) == [to_json(item.change.event) for item in (*items, older)]
        assert await hooked.list_pending(an_id(700), dead=False, limit=9) == [*items, older]

    async def test_what_is_parked_for_nobody_is_not_kept(self, filled_store: SqlStore) -> None:
        await filled_store.save_pending(a_webhook(999), a_parked(4, a_webhook(999)))
        assert await filled_store.list_pending(an_id(999), dead=False, limit=9) == []

    async def test_dead_letters_past_keeping_are_pruned(self, hooked: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("domogate.stores.webhooks.PRUNE_CHUNK", 2)
        for cursor in range(4, 9):
            await hooked.save_pending(a_webhook(), a_parked(cursor, a_webhook(), dead_at=NOW + cursor))
        await hooked.save_pending(a_webhook(), a_parked(9, a_webhook(), module_id=PLUG.id))
        await hooked.prune_pending(NOW + 8)
        assert [one.change.cursor for one in await hooked.list_pending(an_id(700), dead=True, limit=9)] == [8]
        assert len(await hooked.list_pending(an_id(700), dead=False, limit=9)) == 1


async def _read_events(database_url: str) -> list[str]:
    def read() -> list[str]:
        database = open_database(database_url)
        try:
            with database.reading.connect() as connection:
                return list(connection.execute(select(parked.c.event).order_by(parked.c.cursor)).scalars())
        finally:
            database.close()

    return await asyncio.to_thread(read)


_events: st.SearchStrategy[Event] = st.from_type(StateChanged).filter(
    # Hypothesis takes the mark `<factory>` of a default value as a value.
    lambda event: not any(word in repr(event) for word in ("nan", "inf", "<factory>"))
) | st.from_type(PlantChanged)


@given(_events)
def test_every_event_is_read_back_as_it_was_parked(event: Event) -> None:
    assert decode_event(to_json(event)) == event
