"""Changes one plant in one transaction. It uses the code that imports estates."""

from collections.abc import Callable, Iterable

from sqlalchemy import bindparam, select

from domogate.common.disk_ids import DiskIds
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.formats import email_key
from domogate.domain.ids import Id
from domogate.stores.engine import Transaction, chunked
from domogate.stores.estate_import import import_part
from domogate.stores.estate_people import ImportedUsers
from domogate.stores.estate_prune import remove_unlisted
from domogate.stores.parts import ids_of
from domogate.stores.plants import find_plant
from domogate.stores.reconcile import Difference
from domogate.stores.tables.plants import ambients, floors, modules, plants


def edit_plant(tx: Transaction, plant_id: Id, edit: Callable[[EstatePlant], EstatePlant]) -> None:
    """Replace the plant by the result of `edit`.

    Floors, ambients and modules that are not in the result are removed. Allowed users and invitations stay. Raises ValueError
    if there is no such plant, or if a new id is used already.
    """
    stored = find_plant(tx.connection, plant_id)
    if stored is None:
        raise ValueError(f"there is no plant {plant_id}")
    before = EstatePlant(stored.plant, stored.topology)
    after = edit(before)
    _check_new_ids(tx, set(ids_of(after)) - set(ids_of(before)))
    people = (after.plant.owner, *after.plant.allowed)
    known = ImportedUsers(
        Difference(),
        id_of={one.user_id: one.user_id for one in people},
        id_of_email={email_key(one.email): one.user_id for one in people},
        active=set(),
        renamed=set(),
    )
    import_part(tx, Estate(plants=(after,)), known)
    with DiskIds() as listed:
        listed.add(ids_of(after))
        remove_unlisted(tx, [plant_id], listed)


def _check_new_ids(tx: Transaction, ids: Iterable[Id]) -> None:
    """Raises ValueError if the store already has a record with one of these ids.

    Without this check, the code that imports estates would move the record from its plant to the changed plant.
    """
    for table in (plants, floors, ambients, modules):
        used = select(table.c.id).where(table.c.id.in_(bindparam("ids", expanding=True)))
        for some in chunked(ids):
            if (found := tx.connection.execute(used, {"ids": some}).scalar()) is not None:
                raise ValueError(f"the id {found} is used already")
