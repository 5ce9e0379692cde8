"""Stores the favourite modules of each person in each plant, as a list in JSON. Modules that were deleted stay in the list."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, delete, select

from domogate.domain.ids import Id
from domogate.stores.codec import decode_texts, to_json
from domogate.stores.engine import Transaction
from domogate.stores.tables.plants import favourites, members

_OF_PERSON = (favourites.c.user_id == bindparam("of_user"), favourites.c.plant_id == bindparam("of_plant"))
_FIND = select(favourites.c.modules).where(*_OF_PERSON)
_REMOVE = delete(favourites).where(*_OF_PERSON)
_IS_MEMBER = select(members.c.user_id).where(
    members.c.user_id == bindparam("of_user"), members.c.plant_id == bindparam("of_plant")
)


def find_favourites(connection: Connection, user_id: Id, plant_id: Id) -> Sequence[Id]:
    found = connection.execute(_FIND, {"of_user": user_id, "of_plant": plant_id}).scalar()
    return () if found is None else tuple(map(Id, decode_texts(found)))


def set_favourites(tx: Transaction, user_id: Id, plant_id: Id, module_ids: Sequence[Id]) -> bool:
    of_person = {"of_user": user_id, "of_plant": plant_id}
    if tx.connection.execute(_IS_MEMBER, of_person).first() is None:
        return False
    tx.connection.execute(_REMOVE, of_person)
    if module_ids:
        row = {"user_id": user_id, "plant_id": plant_id, "modules": to_json(module_ids)}
        tx.connection.execute(favourites.insert(), row)
    return True
