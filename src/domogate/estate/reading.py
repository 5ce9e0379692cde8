"""Reads an estate file: parses and checks it plant by plant. A plant may be used only after the whole file was checked."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from io import StringIO
from typing import Any, TextIO

import msgspec

from domogate.domain.estate import Estate, EstatePlant, Mistake
from domogate.domain.formats import email_key
from domogate.domain.people import User
from domogate.estate.building import EstateBuilder, EstateFile
from domogate.estate.checks import Drivers, PlantChecks, check_document, check_users
from domogate.estate.explain import Finding
from domogate.estate.mistakes import EstateMistakes, print_path
from domogate.estate.nodes import PLANTS, Entry, Listing, Mapping, Node, locate
from domogate.estate.quick_read import NotQuick, to_raw
from domogate.estate.quick_scan import QuickScan
from domogate.estate.schema import check_schema, guide, quick_reader
from domogate.estate.used_ids import UsedIds
from domogate.ports import Hasher

_USERS = "users"


def read_estate(text: str, source: str, *, drivers: Drivers | None = None) -> EstateFile:
    """Return the whole file.

    Raises EstateMistakes with all mistakes. `drivers` are the allowed drivers. None allows any driver with any options.
    """
    plants: list[EstatePlant] = []
    file = scan_estate(lambda: StringIO(text), source, plants.append, drivers=drivers)
    return msgspec.structs.replace(file, estate=msgspec.structs.replace(file.estate, plants=tuple(plants)))


def scan_estate(
    open_text: Callable[[], AbstractContextManager[TextIO]],
    source: str,
    take: Callable[[EstatePlant], None],
    *,
    drivers: Drivers | None = None,
) -> EstateFile:
    """Pass the plants to `take` one by one. Return the file without plants.

    Raises EstateMistakes if the file has mistakes. Raises UnicodeDecodeError if the file is not UTF-8.

    The plants may be used only if nothing is raised. A correct file is read once if it is JSON of at most `MOST_TEXT`
    characters. It is also read once if it is simple YAML, such as an export, with the users before the plants. Other files are
    read again by the YAML parser. If such a file has the users after the plants, it is read a third time.
    """
    quick = QuickScan(source, take, drivers)
    with open_text() as text:
        file = quick.run(text)
    if file is not None:
        return file
    scan = _Scan(source, take, drivers, passed_on=quick.passed_on)
    with open_text() as text:
        file, users = scan.run(text)
    if file is None:
        scan = _Scan(source, take, drivers, users=users, passed_on=quick.passed_on)
        with open_text() as text:
            file, _ = scan.run(text)
    assert file is not None, "all users are known"
    return file


async def build_estate(file: EstateFile, hasher: Hasher, *, known: Collection[str] = ()) -> Estate:
    """Return the estate with hashed passwords.

    For users in `known` (by e-mail), a password in clear text is ignored and not hashed. They keep their present password.
    """
    kept = {email_key(email) for email in known}

    async def with_hash(user: User) -> User:
        password = file.passwords.get(user.id)
        if password is None or email_key(user.email) in kept:
            return user
        return msgspec.structs.replace(user, password_hash=await hasher.hash_password(password))

    users = await asyncio.gather(*map(with_hash, file.estate.users))
    return msgspec.structs.replace(file.estate, users=tuple(users))


class _Scan:
    """One pass over a file. Plants that come before the users in the file are skipped, unless `users` is given."""

    def __init__(
        self,
        source: str,
        take: Callable[[EstatePlant], None],
        drivers: Drivers | None,
        *,
        users: Any = None,
        passed_on: int = 0,
    ) -> None:
        """`users` are the data of the users, if an earlier pass has read them.

        `passed_on` is the number of plants that `take` got in an earlier pass. These plants are checked, but `take` does not
        get them again.
        """
        self._source = source
        self._take = take
        self._drivers = drivers
        self._passed_on = passed_on
        self._identities = [(key, UsedIds()) for key in ("id", "internalId")]
        self._mistakes: list[Mistake] = []
        self._checks: PlantChecks | None = None
        self._builder: EstateBuilder | None = None
        self._has_skipped = False
        if users is not None:
            self._know_users(users, list(check_schema({_USERS: users})))

    def run(self, text: TextIO) -> tuple[EstateFile | None, Any]:
        """Return the content of the file without its plants, and the users of the file.

        Raises EstateMistakes if the file has mistakes.

        Plants are skipped if the file has them before its users. Then the content is None. In this case the caller must read
        the file again, with these users.
        """
        from domogate.estate.composing import compose  # Most files are simple YAML or JSON, and do not need the YAML parser.

        try:
            root, syntax = compose(text, self._take_plant)
        finally:
            for _, used in self._identities:
                used.close()
        if root is None:
            raise EstateMistakes(self._source, [*self._mistakes, *syntax])
        passed_on = _without_plants(root)
        document, refused = _read_data(passed_on)
        users = (document.get(_USERS) if isinstance(document, dict) else None) or []
        if self._has_skipped:
            return None, users
        reported = {finding.path for finding in refused}
        refused += [finding for finding in check_document(document) if finding.path not in reported]
        mistakes = [*self._mistakes, *syntax, *(_placed(finding, passed_on) for finding in refused)]
        if mistakes:
            raise EstateMistakes(self._source, mistakes)
        return (self._builder or EstateBuilder(users)).build(document, self._source), users

    def _know_users(self, users: Any, refused: Sequence[Finding]) -> None:
        """Prepare to check and build plants. The users of the file are needed first, because plants name them.

        `refused` are the violations of the schema that were found in the list of users. If the users have mistakes, plants are
        checked but not built.
        """
        self._checks = PlantChecks(users, self._drivers)
        if not [*refused, *check_users({_USERS: users})]:
            self._builder = EstateBuilder(users)

    def _take_plant(self, before: Mapping, number: int, node: Node) -> None:
        if self._checks is None:
            if _USERS not in before.entries:
                self._has_skipped = True
                return
            before_plants, refused = _read_data(Mapping({_USERS: before.entries[_USERS]}, 1, 1))
            self._know_users(before_plants[_USERS], refused)
            assert self._checks is not None
        line, column = node.line, node.column
        alone = Mapping({PLANTS: Entry(Listing([node], line, column), line, column)}, line, column)
        document, refused = _read_data(alone)
        reported = {finding.path for finding in refused}
        plant = document[PLANTS][0]
        found = self._checks.check((PLANTS, number), plant, self._identities)
        refused += [at_0 for finding in found if (at_0 := _moved(finding, 0)).path not in reported]
        self._mistakes += [_placed(finding, alone, number) for finding in refused]
        if not self._mistakes and self._builder is not None and number >= self._passed_on:
            self._take(self._builder.build_plant(plant))


def _read_data(node: Node) -> tuple[Any, list[Finding]]:
    """Return the data of the node, and the violations of the schema in it."""
    try:
        return quick_reader().read(to_raw(node)), []
    except NotQuick:
        document = guide().to_data(node)
        return document, list(check_schema(document))


def _without_plants(root: Node) -> Node:
    """Return the document with an empty list of plants. The parser has already passed each plant to `_take_plant`."""
    if not isinstance(root, Mapping) or PLANTS not in root.entries:
        return root
    entry = root.entries[PLANTS]
    if not isinstance(entry.node, Listing):
        return root
    emptied = Entry(Listing([], entry.node.line, entry.node.column), entry.line, entry.column)
    return Mapping(root.entries | {PLANTS: emptied}, root.line, root.column)


def _moved(finding: Finding, number: int) -> Finding:
    return finding._replace(path=(PLANTS, number, *finding.path[2:]))


def _placed(finding: Finding, root: Node, number: int | None = None) -> Mistake:
    """Return the finding with its line. If `root` has only one plant, `number` is the number of this plant in the file."""
    line, column = locate(root, finding.path, key=finding.at_key)
    path = finding.path if number is None else _moved(finding, number).path
    return Mistake(line, column, print_path(path), finding.problem, finding.allowed, finding.hint)
