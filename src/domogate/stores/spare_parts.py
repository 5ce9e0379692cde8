"""Finds the spare parts for a unit reference in the stored list of spare parts (E19)."""

from sqlalchemy import Connection, bindparam, exists, select

from domogate.domain.safety import SpareParts
from domogate.stores.codec import NUL, decode_parts
from domogate.stores.tables.plants import modules, spare_parts

_PARTS = select(spare_parts.c.parts).where(spare_parts.c.unit == bindparam("unit"))
_IS_IN_A_PLANT = select(exists().where(modules.c.reference == bindparam("unit")))


def find_spare_parts(connection: Connection, unit: str) -> SpareParts | None:
    if NUL in unit:
        return None
    parts = connection.execute(_PARTS, {"unit": unit}).scalar()
    if parts is not None:
        return SpareParts(unit, decode_parts(parts))
    return SpareParts(unit) if connection.execute(_IS_IN_A_PLANT, {"unit": unit}).scalar() else None
