"""A large estate is imported and exported in parts: the result is the same, and other writes do not wait for all of it."""

import asyncio
import itertools
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.events import PlantChanged, StateChanged
from domogate.domain.plants import Ambient, Member, Module, Plant, PlantType, Topology
from domogate.domain.states import LightState, Report
from domogate.stores import SqlStore, estate, parts, sqlite_url
from domogate.stores.estate_rows import make_rows
from support.clocks import NOW
from support.examples import is_long
from support.stores import ANNA, APP, BRUNO, HOUSE, LAMP, SMALL, ChangeRecorder, OpenStore, an_id, record_changes

PEOPLE = Estate(users=(ANNA, BRUNO), clients=(APP,))


def a_plant(number: int, modules: int = 100) -> EstatePlant:
    owner, allowed = Member(ANNA.id, ANNA.email), (Member(BRUNO.id, BRUNO.email),)
    base = 0x10_0000 * (number + 1)
    plant = Plant(an_id(base), an_id(base + 1), f"Plant {number}", PlantType.HOTEL, owner, allowed=allowed)
    lamps = tuple(
        Module(an_id(base + 100 + n), an_id(base + 50_000 + n), f"Lamp {n}", DeviceKind.LIGHT) for n in range(modules)
    )
    room = Ambient(an_id(base + 2), an_id(base + 3), "Room", "room", lamps)
    return EstatePlant(plant, Topology(ambients=(room,)), tuple(FirstState(lamp.id, LightState(on=True)) for lamp in lamps))


PLANTS = tuple(a_plant(number, 40) for number in range(23))
"""At least three parts, on a machine of any speed."""


class ImportTimes:
    """The time of an import: only preparing a part and pausing take time.

    `free` has the seconds without a lock at each pause.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, prepared_in: float = 0.0) -> None:
        self._now = self._released = 0.0
        self._prepared_in = prepared_in
        self.free: list[float] = []
        monkeypatch.setattr(estate, "asyncio", SimpleNamespace(sleep=self._pause, to_thread=self._prepare))
        monkeypatch.setattr(estate, "monotonic", lambda: self._now)

    async def _pause(self, seconds: float) -> None:
        self._now += seconds
        self.free.append(self._now - self._released)

    async def _prepare(self, *args: Any) -> Any:
        self._released = self._now
        self._now += self._prepared_in
        return await asyncio.to_thread(*args)


class TestInParts:
    async def test_the_store_holds_the_same_as_after_an_import_at_once(
        self, open_store: OpenStore, database_url: str, tmp_path: Path
    ) -> None:
        in_parts, at_once = await open_store(database_url), await open_store(sqlite_url(tmp_path / "other.db"))
        told: list[int] = []
        summary = await in_parts.import_in_parts(PEOPLE, PLANTS, progress=told.append)
        whole = msgspec.structs.replace(PEOPLE, plants=PLANTS)
        assert summary == await at_once.import_estate(whole, prune=False)
        assert summary.added["modules"] == sum(told) == 920
        assert len(told) >= 3
        assert await in_parts.export_estate() == await at_once.export_estate()

    async def test_a_second_import_changes_nothing(self, store: SqlStore) -> None:
        await store.import_in_parts(PEOPLE, PLANTS)
        before = await store.newest_cursor()
        summary = await store.import_in_parts(PEOPLE, PLANTS)
        assert not any([*summary.added.values(), *summary.updated.values(), *summary.removed.values()])
        assert await store.newest_cursor() == before

    async def test_every_plant_is_told_once_and_everything_else_stays(self, filled_store: SqlStore) -> None:
        changes = record_changes(filled_store)
        await filled_store.import_in_parts(Estate(users=SMALL.users), PLANTS)
        changed = [event.plant_id for event in changes.events if isinstance(event, PlantChanged)]
        assert sorted(changed) == sorted(each.plant.id for each in PLANTS)
        exported = await filled_store.export_estate()
        assert {each.plant.id for each in exported.plants} == {it.plant.id for it in (*SMALL.plants, *PLANTS)}

    async def test_it_is_completed_by_a_second_import_after_it_was_broken_off(
        self, open_store: OpenStore, database_url: str, tmp_path: Path
    ) -> None:
        store, other = await open_store(database_url), await open_store(sqlite_url(tmp_path / "other.db"))

        def breaking_off() -> Iterator[EstatePlant]:
            yield from PLANTS[:21]
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await store.import_in_parts(PEOPLE, breaking_off())
        assert 0 < len((await store.export_estate()).plants) < len(PLANTS)
        await store.import_in_parts(PEOPLE, PLANTS)
        await other.import_in_parts(PEOPLE, PLANTS)
        assert await store.export_estate() == await other.export_estate()

    async def test_a_module_moves_between_plants_of_different_parts_and_keeps_its_state(self, store: SqlStore) -> None:
        await store.import_in_parts(PEOPLE, PLANTS)
        moving = PLANTS[0].topology.ambients[0].modules[0]
        await store.record([Report(PLANTS[0].plant.id, moving.id, NOW, LightState(on=False, level=7))])
        first, last = PLANTS[0], PLANTS[-1]
        rest = tuple(module for module in first.topology.ambients[0].modules if module is not moving)
        lighter = msgspec.structs.replace(
            first, topology=Topology(ambients=(msgspec.structs.replace(first.topology.ambients[0], modules=rest),)), states=()
        )
        fuller = msgspec.structs.replace(last, topology=msgspec.structs.replace(last.topology, modules=(moving,)))
        await store.import_in_parts(PEOPLE, [lighter, *PLANTS[1:-1], fuller])
        exported = {each.plant.id: each for each in (await store.export_estate()).plants}
        assert [module.id for module in exported[last.plant.id].topology.modules] == [moving.id]
        states = {state.module_id: state.state for state in exported[last.plant.id].states}
        assert states[moving.id] == LightState(on=False, level=7)

    async def test_writes_of_others_go_on_meanwhile(
        self, open_store: OpenStore, filled_store: SqlStore, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Before each part the import pauses without a lock: in every pause a gateway commits a write."""
        await open_store(database_url, gateway=True)
        importer, changes = await open_store(database_url), ChangeRecorder()
        importer.listen(changes)
        writes = itertools.count(1)

        async def write_in_pause(seconds: float) -> None:
            assert seconds > 0
            await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=True, level=next(writes)))])

        monkeypatch.setattr(estate, "asyncio", SimpleNamespace(sleep=write_in_pause, to_thread=asyncio.to_thread))
        monkeypatch.setattr(estate, "monotonic", lambda: 0.0)
        monkeypatch.setattr(parts, "MODULES_A_PART", 100)
        many = [a_plant(number, 100) for number in range(4)]
        async with asyncio.timeout(60):  # much longer than a write without a lock takes
            await importer.import_in_parts(Estate(users=SMALL.users), many)
        written = [event.plant_id for event in changes.events if isinstance(event, StateChanged | PlantChanged)]
        assert written == [plant_id for part in many for plant_id in (HOUSE.id, part.plant.id)]

    @pytest.mark.parametrize(("gateway", "expected"), [(True, [230, 50, 10, 10, 10, 10]), (False, [230, 90])])
    async def test_a_part_becomes_smaller_if_the_part_before_held_the_lock_too_long(
        self, open_store: OpenStore, database_url: str, monkeypatch: pytest.MonkeyPatch, gateway: bool, expected: list[int]
    ) -> None:
        store = await open_store(database_url, gateway=gateway)
        seconds = itertools.count()
        monkeypatch.setattr(estate, "monotonic", lambda: float(next(seconds)))  # Every part takes a second.
        sizes: list[int] = []
        await store.import_in_parts(PEOPLE, [a_plant(number, 10) for number in range(32)], progress=sizes.append)
        # The size counts the plants too: a second for 253 records is 0.2 s for 50 records, a second for 55 is 0.2 s for 11.
        # Without a gateway, a second is not too long.
        assert sizes == expected

    @pytest.mark.parametrize(
        ("gateway", "expected"),
        [
            ("another process", [27, 45, 90, 180, 180, 180, 36]),
            ("this process", [27, 45, 90, 180, 180, 180, 36]),
            ("none", [27, 45, 90, 180, 360, 36]),
        ],
    )
    async def test_parts_become_larger_while_they_are_fast(
        self,
        open_store: OpenStore,
        database_url: str,
        monkeypatch: pytest.MonkeyPatch,
        gateway: str,
        expected: list[int],
    ) -> None:
        store = await open_store(database_url, gateway=gateway == "this process")
        if gateway == "another process":
            await open_store(database_url, gateway=True)
        monkeypatch.setattr(estate, "monotonic", lambda: 0.0)
        for name in ("FIRST_PART", "MODULES_A_PART", "MODULES_ALONE"):
            monkeypatch.setattr(parts, name, getattr(parts, name) // 10)
        sizes: list[int] = []
        await store.import_in_parts(PEOPLE, [a_plant(number, 9) for number in range(82)], progress=sizes.append)
        assert sizes == expected

    def test_the_first_states_are_written_in_the_order_of_their_key(self) -> None:
        rows = make_rows(Estate(plants=(PLANTS[1], PLANTS[0])))
        assert [row[0] for row in rows.states] == sorted(rows.modules)

    @pytest.mark.parametrize("prepared_in", [0.0, 0.05, 0.5])
    async def test_a_waiting_gateway_gets_the_lock_between_two_parts(
        self, open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepared_in: float
    ) -> None:
        """SQLite tries again every 0.1 s. The time in which the next part is prepared is also without a lock."""
        url = sqlite_url(tmp_path / "domogate.db")
        store = await open_store(url)
        await open_store(url, gateway=True)
        times = ImportTimes(monkeypatch, prepared_in)
        await store.import_in_parts(PEOPLE, [a_plant(number) for number in range(6)])
        assert times.free == pytest.approx([max(0.12, prepared_in)] * 2)

    async def test_without_a_gateway_an_import_pauses_every_two_seconds(
        self, open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A `domogate` command that waits gets the lock in this pause."""
        store = await open_store(sqlite_url(tmp_path / "domogate.db"))
        monkeypatch.setattr(parts, "MODULES_A_PART", 100)
        monkeypatch.setattr(parts, "MODULES_ALONE", 100)
        times = ImportTimes(monkeypatch, prepared_in=0.3)
        await store.import_in_parts(PEOPLE, [a_plant(number) for number in range(23)])
        assert times.free == pytest.approx([0.3] * 2)

    async def test_a_gateway_that_has_stopped_is_not_waited_for(
        self, open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url = sqlite_url(tmp_path / "domogate.db")
        store = await open_store(url)
        await (await open_store(url, gateway=True)).stop()
        times = ImportTimes(monkeypatch)
        await store.import_in_parts(PEOPLE, [a_plant(number) for number in range(6)])
        assert times.free == []


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MODULES_A_PART", 50)
    monkeypatch.setattr(parts, "MODULES_ALONE", 50)


@pytest.mark.usefixtures("small_parts")
class TestPruneInParts:
    async def test_the_store_holds_the_same_as_after_pruning_at_once(
        self, open_store: OpenStore, database_url: str, tmp_path: Path
    ) -> None:
        in_parts, at_once = await open_store(database_url), await open_store(sqlite_url(tmp_path / "other.db"))
        first = [a_plant(number, 30) for number in range(6)]
        moving = first[0].topology.ambients[0].modules[0]
        rest = Topology(
            ambients=(
                msgspec.structs.replace(first[1].topology.ambients[0], modules=first[1].topology.ambients[0].modules[:9]),
            ),
            modules=(moving,),
        )
        smaller = msgspec.structs.replace(first[1], topology=rest, states=())
        empty = msgspec.structs.replace(first[2], topology=Topology(), states=())
        plants = (smaller, empty, first[4], a_plant(7, 30))
        for store in (in_parts, at_once):
            await store.import_estate(SMALL, prune=False)
            await store.import_estate(msgspec.structs.replace(PEOPLE, plants=tuple(first)), prune=False)
            await store.record([Report(first[0].plant.id, moving.id, NOW, LightState(on=False, level=7))])
        summary = await in_parts.import_in_parts(PEOPLE, plants, prune=True)
        assert summary == await at_once.import_estate(msgspec.structs.replace(PEOPLE, plants=plants), prune=True)
        exported = await in_parts.export_estate()
        assert exported == await at_once.export_estate()
        assert {each.plant.id for each in exported.plants} == {each.plant.id for each in plants}
        states = {state.module_id: state.state for each in exported.plants for state in each.states}
        assert states[moving.id] == LightState(on=False, level=7)

    async def test_everything_can_be_removed_and_all_people_are_told(self, filled_store: SqlStore) -> None:
        many = [a_plant(number, 30) for number in range(5)]
        await filled_store.import_in_parts(Estate(users=SMALL.users), many)
        changes = ChangeRecorder()
        filled_store.listen(changes)
        summary = await filled_store.import_in_parts(Estate(), [], prune=True)
        assert summary.removed["plants"] == len(SMALL.plants) + 5
        assert await filled_store.export_estate() == Estate()
        told = {event.plant_id: event.user_ids for event in changes.events if isinstance(event, PlantChanged)}
        assert told.keys() == {each.plant.id for each in (*SMALL.plants, *many)}
        assert all(told.values())

    async def test_it_is_completed_by_a_second_import_after_it_was_interrupted(self, filled_store: SqlStore) -> None:
        many = [a_plant(number, 30) for number in range(5)]
        await filled_store.import_in_parts(Estate(users=SMALL.users), many)
        taken_over = msgspec.structs.replace(ANNA, email=BRUNO.email)
        people = Estate(users=(taken_over,))
        kept = msgspec.structs.replace(many[0].plant, owner=Member(ANNA.id, BRUNO.email), allowed=())

        def plants(*, breaking_off: bool) -> Iterator[EstatePlant]:
            yield msgspec.structs.replace(many[0], plant=kept)
            if breaking_off:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await filled_store.import_in_parts(people, plants(breaking_off=True), prune=True)
        await filled_store.import_in_parts(people, plants(breaking_off=False), prune=True)
        exported = await filled_store.export_estate()
        assert [each.plant.id for each in exported.plants] == [kept.id]
        assert [(user.id, user.email) for user in exported.users] == [(ANNA.id, BRUNO.email)]

    async def test_writes_of_others_go_on_meanwhile(
        self, open_store: OpenStore, filled_store: SqlStore, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Before each part that removes records, a gateway commits a write."""
        await open_store(database_url, gateway=True)
        importer, changes = await open_store(database_url), ChangeRecorder()
        await importer.import_in_parts(Estate(users=SMALL.users), [a_plant(number, 60) for number in range(4)])
        importer.listen(changes)
        writes = itertools.count(1)

        async def write_in_pause(_: float) -> None:
            await filled_store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=True, level=next(writes)))])

        monkeypatch.setattr(estate, "asyncio", SimpleNamespace(sleep=write_in_pause, to_thread=asyncio.to_thread))
        await importer.import_in_parts(SMALL, SMALL.plants, prune=True)
        written = [type(event) for event in changes.events if isinstance(event, StateChanged | PlantChanged)]
        assert written[-8:] == [StateChanged, PlantChanged] * 4


class TestExportInParts:
    @pytest.mark.usefixtures("small_parts")
    async def test_it_gives_the_same_as_an_export_at_once_ordered_by_name(
        self, open_store: OpenStore, database_url: str
    ) -> None:
        store = await open_store(database_url)
        names = ["b", "B", "a", "Ä", "é", "z", "b"]
        plants = [a_plant(number, 20) for number in range(len(names))]
        renamed = [
            msgspec.structs.replace(each, plant=msgspec.structs.replace(each.plant, name=name))
            for each, name in zip(plants, names, strict=True)
        ]
        await store.import_in_parts(PEOPLE, renamed)
        taken: list[EstatePlant] = []
        people = await store.export_in_parts(taken.append)
        assert [each.plant.name for each in taken] == ["B", "a", "b", "b", "z", "Ä", "é"]
        assert msgspec.structs.replace(people, plants=tuple(taken)) == await store.export_estate()

    async def test_its_memory_does_not_grow_with_the_estate(self, store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(parts, "MODULES_A_PART", 100)

        async def peak_of_export() -> int:
            tracemalloc.start()
            try:
                await store.export_in_parts(lambda _: None)
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

        async def smallest_peak() -> int:
            """The first export fills caches, and the other threads of the store also need memory at times."""
            return min([await peak_of_export() for _ in range(3)])

        plants = [a_plant(number) for number in range(15 if is_long() else 9)]
        await store.import_in_parts(PEOPLE, plants[: len(plants) // 3])
        small = await smallest_peak()
        await store.import_in_parts(PEOPLE, plants)
        assert await smallest_peak() < 1.3 * small
