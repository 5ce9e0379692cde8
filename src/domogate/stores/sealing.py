"""Encrypts the secrets in the database. The table `secret_key` names the key, which is not in the database (Decision 0062).

The sealer is an execution option of the SQLAlchemy engines. So the code can get the sealer from every connection.
"""

from typing import Any

from sqlalchemy import Column, Connection, bindparam, insert, select, update

from domogate.domain.events import SigningKeysChanged
from domogate.ports import Sealer, SecretKeyMissing, SecretKeyRotation
from domogate.stores.engine import Database, Transaction, execute_many
from domogate.stores.tables.keys import secret_key

_OPTION = "sealer"
_KEY_ID = select(secret_key.c.id)


def list_secrets() -> dict[Column[Any], Column[Any]]:
    """Return every column with secrets, and the column that identifies its row."""
    # Imported here, because only a change of the key needs these tables.
    from domogate.stores.tables.devices import driver_connections
    from domogate.stores.tables.identity import users
    from domogate.stores.tables.keys import signing_keys
    from domogate.stores.tables.notices import webhooks

    return {
        signing_keys.c.jwk: signing_keys.c.kid,
        users.c.totp_secret: users.c.id,
        webhooks.c.secret: webhooks.c.id,
        driver_connections.c.password: driver_connections.c.driver,
    }


def find_secret_key_id(connection: Connection) -> str | None:
    """Return the id of the key that encrypts the secrets, or None if the secrets are not encrypted yet."""
    found: str | None = connection.execute(_KEY_ID).scalar()
    return found


def seal(tx: Transaction, column: Column[Any], row_id: str, secret: str | None) -> str | None:
    """Encrypt a secret with the key that the database uses now. If the store has no Sealer, return the secret as it is.

    A rotation of this key and a write of a secret never run at the same time. So the rotation misses no secret.
    """
    sealer = _sealer_of(tx.connection)
    if secret is None or sealer is None:
        return secret
    return sealer.seal(tx.connection.execute(_KEY_ID).scalar_one(), _place(column, row_id), secret)


def unseal(connection: Connection, column: Column[Any], row_id: str, stored: str | None) -> str | None:
    sealer = _sealer_of(connection)
    return stored if stored is None or sealer is None else sealer.unseal(_place(column, row_id), stored)


def open_seals(database: Database, sealer: Sealer | None) -> None:
    """Let the sealer find the key of the secrets. If the secrets are not encrypted yet, encrypt them.

    Without a sealer nothing is encrypted. Raises SecretKeyMissing if the secrets are encrypted and the key is not available.
    Also raises SecretKeyMissing if a new key cannot be written.
    """
    with database.reading.begin() as connection:
        key_id = find_secret_key_id(connection)
    if sealer is not None and key_id is None:
        _seal_all(database, sealer)
    elif sealer is not None:
        sealer.choose_key(key_id)
    elif key_id is not None:
        raise SecretKeyMissing(f"the secrets in this database are encrypted under the secret key {key_id}")
    database.set_option(_OPTION, sealer)


def _seal_all(database: Database, sealer: Sealer) -> None:
    with database.writing.begin() as connection:
        database.lock(connection)
        former = find_secret_key_id(connection)
        key_id = sealer.choose_key(former)  # Inside the transaction, so that only one of several new gateways makes a key.
        if former is not None:
            return
        sealed = _reseal(connection, key_id, sealer, is_sealed=False)
        connection.execute(insert(secret_key), {"id": key_id})
    if sealed:
        database.erase_old_values()


def rotate_secret_key(tx: Transaction) -> SecretKeyRotation:
    sealer = _sealer_of(tx.connection)
    assert sealer is not None, "the store has no sealer"
    former = tx.connection.execute(_KEY_ID).scalar_one()
    current = sealer.choose_next_key(former)
    secrets = _reseal(tx.connection, current, sealer, is_sealed=True)
    tx.connection.execute(update(secret_key).values(id=current))
    tx.emit(SigningKeysChanged())  # Running gateways read the keys again.
    return SecretKeyRotation(former, current, secrets)


def _reseal(connection: Connection, key_id: str, sealer: Sealer, *, is_sealed: bool) -> int:
    """Encrypt all secrets with the key `key_id`, and return their number. If `is_sealed` is true, decrypt them first."""
    number = 0
    for column, identity in list_secrets().items():
        rows = []
        for row_id, stored in connection.execute(select(identity, column).where(column.is_not(None))).all():
            place = _place(column, row_id)
            secret = sealer.unseal(place, stored) if is_sealed else stored
            rows.append({"row_id": row_id, "sealed": sealer.seal(key_id, place, secret)})
        change = update(column.table).where(identity == bindparam("row_id")).values({column.name: bindparam("sealed")})
        execute_many(connection, change, rows)
        number += len(rows)
    return number


def _sealer_of(connection: Connection) -> Sealer | None:
    found: Sealer | None = connection.get_execution_options().get(_OPTION)
    return found


def _place(column: Column[Any], row_id: str) -> str:
    return f"{column.table.name}\0{column.name}\0{row_id}"
