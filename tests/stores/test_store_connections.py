"""Connections of drivers, and the events of their changes. `test_sealing.py` checks that the passwords are encrypted."""

from collections.abc import Sequence

from domogate.domain.events import Change, DriverConnectionChanged, Event
from domogate.ports import DriverConnection
from domogate.stores import SqlStore

FIRST = DriverConnection("mqtt", "mqtt://first.lan:1883", "gate", "a-password")
SECOND = DriverConnection("mqtt", "mqtts://second.lan:8883")


async def test_a_driver_has_one_connection_and_each_change_is_an_event(store: SqlStore) -> None:
    seen: list[Event] = []

    def remember(changes: Sequence[Change]) -> None:
        seen.extend(change.event for change in changes)

    store.listen(remember)
    await store.set_connection(FIRST)
    await store.set_connection(SECOND)
    assert await store.list_connections() == [SECOND]
    assert await store.delete_connection("mqtt")
    assert not await store.delete_connection("mqtt")
    assert await store.list_connections() == []
    assert seen == [DriverConnectionChanged(driver="mqtt")] * 3


def test_the_password_is_not_in_texts_about_the_connection() -> None:
    assert "a-password" not in repr(FIRST)
