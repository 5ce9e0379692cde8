"""Stores the recovery codes of second factors, as hashes."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from domogate.domain.ids import Id
from domogate.stores.engine import Transaction, execute_many
from domogate.stores.grants import require_user
from domogate.stores.tables.identity import recovery_codes

_ONE = delete(recovery_codes).where(
    recovery_codes.c.user_id == bindparam("of_user"), recovery_codes.c.code_hash == bindparam("of_hash")
)
_NUMBER = select(func.count()).select_from(recovery_codes).where(recovery_codes.c.user_id == bindparam("user_id"))


def replace_recovery_codes(tx: Transaction, user_id: Id, hashes: Sequence[str]) -> None:
    require_user(tx, user_id)
    tx.connection.execute(delete(recovery_codes).where(recovery_codes.c.user_id == user_id))
    execute_many(tx.connection, insert(recovery_codes), [{"user_id": user_id, "code_hash": code} for code in hashes])


def use_recovery_code(tx: Transaction, user_id: Id, code_hash: str) -> bool:
    return tx.connection.execute(_ONE, {"of_user": user_id, "of_hash": code_hash}).rowcount == 1


def count_recovery_codes(connection: Connection, user_id: Id) -> int:
    return connection.execute(_NUMBER, {"user_id": user_id}).scalar_one()
