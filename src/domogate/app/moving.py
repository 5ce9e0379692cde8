"""Moves the data of a gateway from its SQLite file to a PostgreSQL database. Also compares the answers of the two stores."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from domogate.app.compared_answers import DifferentAnswers, TwoDatabases
from domogate.app.parts import SystemClock, find_database_file, open_store
from domogate.app.single_gateway import GatewayRuns, only_gateway
from domogate.domain.ids import Id
from domogate.ports import OrderFilter, Store
from domogate.services.audit import AuditTrail
from domogate.settings import Settings
from domogate.stores import Move, Moved, MoveRefused, sqlite_url

__all__ = ["Comparison", "GatewayRuns", "MoveProgress", "MoveRefused", "move_store"]

_SAMPLE = 25
_MOST = 1_000
_EVER, _DAY = 4e9, 86_400.0

T = TypeVar("T")


class Comparison(msgspec.Struct, frozen=True):
    """The result of a comparison: the number of compared answers, and the number of records in the audit log."""

    answers: int
    audit_entries: int


async def move_store(settings: Settings, target: str, opened: Callable[[int], "MoveProgress"]) -> tuple[Moved, Comparison]:
    """Copy everything to the database `target`, and compare the two databases.

    `opened` is called with the number of rows to copy, and returns the functions that show the progress.

    Raises MoveRefused if the data cannot be copied or the two databases give different answers. Raises GatewayRuns if a gateway
    uses the SQLite file. Errors of the databases are raised too.
    """
    file = find_database_file(settings)
    if file is None or not file.exists():
        raise MoveRefused(f"there is no SQLite database in {settings.data}: check --data")
    with only_gateway(settings):
        moved = await asyncio.to_thread(_copy, sqlite_url(file), target, opened)
        return moved, await _compare(settings, msgspec.structs.replace(settings, database=target))


class MoveProgress(msgspec.Struct, frozen=True):
    copied: Callable[[int], None]
    compared: Callable[[int], None]


def _copy(source: str, target: str, opened: Callable[[int], MoveProgress]) -> Moved:
    move = Move(source, target)
    try:
        progress = opened(move.count())
        return move.run(progress.copied, progress.compared)
    finally:
        move.close()


async def _compare(before: Settings, after: Settings) -> Comparison:
    """Read the same sample of the data from both stores, and verify the hashes of both audit logs.

    Raises MoveRefused if the results differ.
    """
    clock = SystemClock()
    old, new = (open_store(settings, clock, gateway=False) for settings in (before, after))
    await old.start()
    try:
        await new.start()
        try:
            answers = await _compare_answers(old, new) + await _compare_reads(old, new, clock.now())
            chain, copied = await AuditTrail(old).verify(), await AuditTrail(new).verify()
            if chain != copied:
                raise MoveRefused(_differs("the audit chain"))
            return Comparison(answers, copied.records)
        finally:
            await new.stop()
    finally:
        await old.stop()


async def _compare_answers(old: Store, new: Store) -> int:
    """Compare the lists of both stores (users, clients, keys and others), and a random sample of users, plants and modules.

    Return the number of compared answers. Raises MoveRefused if two answers differ.
    """
    answers = 0
    for name, ask in _about_everything().items():
        answers += await _compare_one(name, ask, old, new)
    users = await old.list_users()
    plants = await old.list_plants(None, _MOST)
    for user in _choose(users):
        for name, ask in _about_user(user.id).items():
            answers += await _compare_one(name, ask, old, new)
    for plant in _choose(plants):
        stored = await old.find_plant(plant.id)
        modules = [] if stored is None else [module.id for module in stored.topology.every_module()]
        for name, ask in _about_plant(plant.id, _choose(modules)).items():
            answers += await _compare_one(name, ask, old, new)
    return answers


async def _compare_reads(old: Store, new: Store, now: float) -> int:
    """Compare the answers of the families' read operations, for a random sample of users.

    Return the number of compared answers. Raises MoveRefused if two answers differ.
    """
    databases = TwoDatabases(old, new, now)
    try:
        return sum([await databases.compare_person(user.id, _choose) for user in _choose(await old.list_users())])
    except DifferentAnswers as error:
        raise MoveRefused(_differs(str(error))) from None


def _choose(all_items: Sequence[T]) -> Sequence[T]:
    """Return a random sample of the items."""
    return random.SystemRandom().sample(all_items, min(_SAMPLE, len(all_items)))


_Ask = Callable[[Store], Awaitable[Any]]


async def _compare_one(name: str, ask: _Ask, old: Store, new: Store) -> int:
    if await ask(old) != await ask(new):
        raise MoveRefused(_differs(name))
    return 1


def _differs(name: str) -> str:
    return (
        f"{name}: the new database answers differently. Do not use it. The SQLite file keeps its data.\n"
        "Start no older version of Domogate with the SQLite file: this command may have migrated its tables."
    )


def _about_everything() -> dict[str, _Ask]:
    return {
        "address": lambda store: store.find_address(),
        "clients": lambda store: store.list_clients(),
        "faults": lambda store: store.list_injections(),
        "imports": lambda store: store.list_imports(None, _MOST),
        "keys": lambda store: store.list_subscriptions(),
        "modules": lambda store: store.count_modules(),
        "newest audit entries": lambda store: store.list_newest_audit(1 << 62, _MOST),
        "secret key": lambda store: store.find_secret_key_id(),
        "signing keys": lambda store: store.list_signing_keys(),
        "users": lambda store: store.list_users(),
    }


def _about_user(user_id: Id) -> dict[str, _Ask]:
    async def list_plants(store: Store) -> Any:
        return (await store.list_plants_of(user_id))[0]

    return {
        "applications of a developer": lambda store: store.list_own_clients(user_id),
        "external accounts": lambda store: store.list_external_accounts(user_id),
        "grants": lambda store: store.list_grants(user_id),
        "keys of a developer": lambda store: store.list_own_subscriptions(user_id),
        "passkeys": lambda store: store.list_passkeys(user_id),
        "plants of a user": list_plants,
        "recovery codes": lambda store: store.count_recovery_codes(user_id),
        "sessions": lambda store: store.list_sessions(user_id),
    }


def _about_plant(plant_id: Id, module_ids: Sequence[Id]) -> dict[str, _Ask]:
    async def find_plant(store: Store) -> Any:
        stored = await store.find_plant(plant_id)
        return None if stored is None else msgspec.structs.replace(stored, cursor=0)

    async def list_readings(store: Store) -> Any:
        return [await store.list_readings(module_id, 0, _EVER, _MOST) for module_id in module_ids]

    async def list_summaries(store: Store) -> Any:
        return [await store.list_summaries(module_id, 0, _EVER, _DAY, _MOST) for module_id in module_ids]

    return {
        "events of a plant": lambda store: store.list_newest_of(plant_id, _MOST),
        "orders of a plant": lambda store: store.list_orders(OrderFilter(plant_id), _MOST),
        "places of modules": lambda store: store.find_places(module_ids),
        "plant": find_plant,
        "readings": list_readings,
        "summaries of readings": list_summaries,
    }
