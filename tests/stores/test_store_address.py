"""The address of the gateway that started last. It stays in the database, so commands on other machines find it."""

from domogate.stores import SqlStore


async def test_a_new_store_has_no_address_and_keeps_the_last_one(store: SqlStore) -> None:
    assert await store.find_address() is None
    await store.set_address("https://first.example.com")
    await store.set_address("https://second.example.com")
    assert await store.find_address() == "https://second.example.com"
