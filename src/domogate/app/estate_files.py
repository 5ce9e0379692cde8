"""Reads, compares, imports and exports estate files, for the management API and the command line."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.ids import Id
from domogate.domain.people import User
from domogate.drivers.declaration import OptionCheck
from domogate.estate import (
    EstateFile,
    EstateMistakes,
    Mistake,
    PlantSpool,
    build_estate,
    print_estate,
    print_in_parts,
    read_estate,
    schema_text,
)
from domogate.ports import Hasher, ImportDifference, ImportSummary, Store
from domogate.services.refusals import Conflict, Invalid

AT_ONCE = 2_000
"""A file with at most this number of modules is imported in one transaction.

With pruning, the file is imported in one transaction only if the store also has at most this many modules.
"""
_MOST_PREVIEWED = 50_000
"""If the store has more modules than this number, there is no preview of an import with pruning: a preview has the list of the
records to remove in memory.
"""
_MOST_SHOWN = 20
_PIECE = 65_536
_LONGEST_KEPT = 4 * 1024 * 1024
"""The longest document that the history of imports keeps, in characters."""
_ID_LENGTH = 36
"""The length of an id, in characters.

The text of a module contains its id. So if the ids of all imported modules are together longer than `_LONGEST_KEPT`, the text
of the imported estate is too long for the history of imports. In this case, the text is not made.
"""


class EstateFiles:
    """Exports, checks, compares and imports the estate as a document, for operators.

    Documents are read one at a time, on another thread.
    """

    def __init__(self, store: Store, hasher: Hasher, checks: Mapping[str, OptionCheck]) -> None:
        self._store = store
        self._hasher = hasher
        self._checks = checks
        self._reading = asyncio.Lock()

    def schema(self) -> str:
        return schema_text()

    async def export(self) -> Iterable[bytes]:
        plants = PlantSpool()
        people = await self._store.export_in_parts(plants.add)

        def print_all() -> Iterator[str]:
            with plants:
                yield from print_in_parts(_without_secrets(people), plants)

        return _in_larger_pieces(print_all())

    async def check(self, document: str) -> Sequence[Mistake]:
        try:
            await self._read(document)
        except EstateMistakes as found:
            return found.mistakes
        return ()

    async def find_difference(self, document: str, *, prune: bool, most: int, by: Id) -> ImportDifference:
        file = await self._read_correct(document)
        await self._check_pruning(file, prune, by)
        if prune and await self._store.count_modules() > _MOST_PREVIEWED:
            raise Conflict(
                f"The gateway has more than {_MOST_PREVIEWED} modules. Compare without pruning, or import on the command line."
            )
        users = [
            msgspec.structs.replace(user, password_hash="new" if user.id in file.passwords else user.password_hash)
            for user in file.estate.users
        ]
        try:
            return await self._store.find_difference(
                msgspec.structs.replace(file.estate, users=tuple(users)), prune=prune, most=most
            )
        except ValueError as error:
            raise Conflict(f"The document contradicts the store: {error}.") from None

    async def import_document(self, document: str, *, prune: bool, by: Id) -> ImportSummary:
        file = await self._read_correct(document)
        await self._check_pruning(file, prune, by)
        with PlantSpool() as plants:
            for plant in file.estate.plants:
                plants.add(plant)
            return await import_file(self._store, self._hasher, without_plants(file), plants, prune=prune, user_id=by)

    async def check_plant(self, before: EstatePlant | None, after: EstatePlant) -> Sequence[str]:
        """Return the problems that the plant has after the change and did not have before the change.

        An old problem does not prevent a change. For example, the plant may use a broker that is configured only on another
        machine.
        """
        mistakes = await self._check_alone(after)
        former = await self._check_alone(before) if mistakes and before is not None else ()
        known = Counter(mistake.problem for mistake in former)
        problems = []
        for mistake in mistakes:
            known[mistake.problem] -= 1
            if known[mistake.problem] < 0:
                problems.append(_without_place(mistake))
        return problems

    async def _check_alone(self, plant: EstatePlant) -> Sequence[Mistake]:
        owner = plant.plant.owner
        facts = msgspec.structs.replace(plant.plant, allowed=(), invited=())
        alone = Estate(users=(User(owner.user_id, owner.email),), plants=(EstatePlant(facts, plant.topology),))
        return await self.check(await asyncio.to_thread(print_estate, alone))

    async def _read(self, document: str) -> EstateFile:
        async with self._reading:
            return await asyncio.to_thread(read_estate, document, "the document", drivers=self._checks)

    async def _read_correct(self, document: str) -> EstateFile:
        try:
            return await self._read(document)
        except EstateMistakes as found:
            shown = "\n".join(f"line {mistake}" for mistake in found.mistakes[:_MOST_SHOWN])
            more = len(found.mistakes) - _MOST_SHOWN
            rest = f"\nand {more} more" if more > 0 else ""
            raise Invalid(f"The document has mistakes:\n{shown}{rest}.") from None

    async def _check_pruning(self, file: EstateFile, prune: bool, by: Id) -> None:
        """Raises Conflict if the import would remove the operator who imports the file."""
        user = await self._store.find_user(by) if prune else None
        if user is not None and not any(user.email == one.email or user.id == one.id for one in file.estate.users):
            raise Conflict(f"The document does not contain your own account, {user.email}, so pruning would remove it. Add it.")


def _without_place(mistake: Mistake) -> str:
    """Return the mistake as text, with only the end of the path to the wrong value: the keys after the last list index."""
    key = mistake.path.rpartition("].")[2]
    allowed = f"; allowed: {mistake.allowed}" if mistake.allowed else ""
    return f"{key}: {mistake.problem}{allowed}"


def without_plants(file: EstateFile) -> EstateFile:
    return msgspec.structs.replace(file, estate=msgspec.structs.replace(file.estate, plants=()))


async def import_file(
    store: Store,
    hasher: Hasher,
    file: EstateFile,
    plants: PlantSpool,
    *,
    prune: bool,
    user_id: Id | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> ImportSummary:
    """Import a correct file, and add this import to the history of imports.

    The plants of the file are in `plants`, not in `file`. `user_id` is None if the command line imports the file. Raises
    Conflict if the file contradicts the store.
    """
    known = [user.email for user in await store.list_users() if user.active]
    estate = await build_estate(file, hasher, known=known)
    stored = await store.count_modules() if prune else 0
    try:
        if max(plants.modules, stored) <= AT_ONCE:
            summary = await store.import_estate(msgspec.structs.replace(estate, plants=tuple(plants)), prune=prune)
            progress(plants.modules)
        else:
            summary = await store.import_in_parts(estate, plants, prune=prune, progress=progress)
    except ValueError as error:
        raise Conflict(f"Nothing was imported, because the file contradicts the store: {error}.") from None
    document = None
    if plants.modules * _ID_LENGTH <= _LONGEST_KEPT:
        document = await asyncio.to_thread(_print_for_history, estate, plants)
    await store.add_import(user_id, summary, prune=prune, document=document)
    return summary


def _print_for_history(people: Estate, plants: Iterable[EstatePlant]) -> str | None:
    """Return the text of the estate file without secrets, or None if this text is too long for the history."""
    pieces: list[str] = []
    length = 0
    for piece in print_in_parts(_without_secrets(people), plants):
        pieces.append(piece)
        length += len(piece)
        if length > _LONGEST_KEPT:
            return None
    return "".join(pieces)


def _without_secrets(people: Estate) -> Estate:
    """Return the estate without the passwords and second factors of users. An import of this estate does not change the stored
    passwords and second factors.

    The estate still has the hashes of keys and of the secrets of applications. These keys and secrets are long and random, so
    nobody can find them from their hashes.
    """
    users = (msgspec.structs.replace(user, password_hash=None, totp_secret=None) for user in people.users)
    return msgspec.structs.replace(people, users=tuple(users))


def _in_larger_pieces(pieces: Iterable[str]) -> Iterator[bytes]:
    waiting = bytearray()
    for piece in pieces:
        waiting += piece.encode()
        if len(waiting) >= _PIECE:
            yield bytes(waiting)
            waiting.clear()
    yield bytes(waiting)
