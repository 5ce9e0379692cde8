"""The read operations that `domogate move` compares on two databases."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from domogate.app.compared_answers import DifferentAnswers, TwoDatabases
from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant, FirstState
from domogate.domain.plants import Topology
from domogate.domain.states import Reading, Report, Unit
from domogate.families import FAMILIES
from domogate.families.reading import OF_A_MODULE, OF_A_PERSON, OF_A_PLANT, OF_A_REFERENCE
from domogate.stores import SqlStore, sqlite_url
from support.clocks import NOW, ManualClock
from support.full_plant import FULL_PLANT, MODULE_OF, STATES
from support.stores import ANNA, BRUNO, SMALL

TICKETS = {"E11", "E15"}
SUBSCRIPTIONS = {"X7"}
"""A list of webhooks. The rows of webhooks are compared one by one."""

TOPOLOGY = Topology((), (), tuple(MODULE_OF.values()))
ESTATE: Estate = msgspec.structs.replace(
    SMALL,
    plants=(
        *SMALL.plants,
        EstatePlant(FULL_PLANT, TOPOLOGY, tuple(FirstState(MODULE_OF[kind].id, state) for kind, state in STATES.items())),
    ),
)


async def open_filled(path: Path, estate: Estate) -> SqlStore:
    store = SqlStore(sqlite_url(path), clock=ManualClock())
    await store.start()
    await store.import_estate(estate, prune=False)
    return store


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[list[SqlStore]]:
    opened = [await open_filled(tmp_path / name, ESTATE) for name in ("old", "new")]
    yield opened
    for store in opened:
        await store.stop()


def test_all_operations_that_only_read_are_compared() -> None:
    compared = OF_A_PERSON.keys() | OF_A_PLANT.keys() | OF_A_MODULE.keys() | OF_A_REFERENCE.keys()
    reads = {operation.id: operation for family in FAMILIES for operation in family.operations if operation.method == "GET"}
    assert compared == reads.keys() - TICKETS - SUBSCRIPTIONS
    handlers = {**OF_A_PERSON, **OF_A_PLANT, **OF_A_MODULE, **OF_A_REFERENCE}
    assert {id: reads[id].handler for id in handlers} == handlers


class TestTwoDatabases:
    async def test_with_the_same_data_answer_the_same(self, stores: list[SqlStore]) -> None:
        databases = TwoDatabases(stores[0], stores[1], NOW)
        # There are two plants. Six modules have an operation of their own.
        assert await databases.compare_person(ANNA.id, list) >= len(OF_A_PERSON) + 2 * len(OF_A_PLANT) + len(OF_A_MODULE)
        assert await databases.compare_person(BRUNO.id, list) > len(OF_A_PERSON)

    async def test_differ_in_the_state_of_one_module(self, stores: list[SqlStore]) -> None:
        changes: list[tuple[DeviceKind, str, dict[str, object]]] = [
            (DeviceKind.LIGHT, "E8", {"level": 41}),
            (DeviceKind.PLUG, "E4", {"power": None}),
            (DeviceKind.REMOTE, "E2", {"firmware": 4}),
            (DeviceKind.CHRONOTHERMOSTAT, "E12", {"temperature": Reading(22.0, Unit.CELSIUS, NOW)}),
            (DeviceKind.MULTISOCKET, "E16", {"sockets": (True, True)}),
        ]
        for number, (kind, operation, changed) in enumerate(changes):
            state = STATES[kind]
            assert state is not None
            module_id, at = MODULE_OF[kind].id, NOW + 2 * number
            report = Report(FULL_PLANT.id, module_id, at + 1, state=msgspec.structs.replace(state, **changed))
            await stores[1].record((report,))
            with pytest.raises(DifferentAnswers, match=rf"^{operation} of "):
                await TwoDatabases(stores[0], stores[1], NOW).compare_person(ANNA.id, list)
            await stores[1].record((Report(FULL_PLANT.id, module_id, at + 2, state=state),))
        await TwoDatabases(stores[0], stores[1], NOW).compare_person(ANNA.id, list)

    async def test_differ_in_a_name_or_in_a_right(self, stores: list[SqlStore], tmp_path: Path) -> None:
        renamed = msgspec.structs.replace(FULL_PLANT, name="Castle")
        lost = msgspec.structs.replace(ESTATE, plants=ESTATE.plants[:1])
        named = msgspec.structs.replace(
            ESTATE, plants=(ESTATE.plants[0], msgspec.structs.replace(ESTATE.plants[1], plant=renamed))
        )
        for number, estate in enumerate((lost, named)):
            other = await open_filled(tmp_path / f"other {number}", estate)
            with pytest.raises(DifferentAnswers, match=r"^E6"):
                await TwoDatabases(stores[0], other, NOW).compare_person(ANNA.id, list)
            await other.stop()
