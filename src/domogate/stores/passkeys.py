"""Stores the passkeys of users."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from domogate.domain.events import UserChanged
from domogate.domain.ids import Id
from domogate.domain.passkeys import MOST_PASSKEYS, Passkey, PasskeyUse, UsedChallenge
from domogate.stores.codec import from_row, to_row
from domogate.stores.engine import Transaction
from domogate.stores.tables.identity import passkeys, sessions
from domogate.stores.tickets import use_tickets

_BY_CREDENTIAL = select(passkeys).where(passkeys.c.credential_id == bindparam("credential_id"))
_OF_USER = select(passkeys).where(passkeys.c.user_id == bindparam("user_id")).order_by(passkeys.c.created_at, passkeys.c.id)
_SESSION = select(sessions.c.id).where(sessions.c.id == bindparam("session_id"), sessions.c.user_id == bindparam("user_id"))


def add_passkey(tx: Transaction, passkey: Passkey, challenge: UsedChallenge, session_id: Id) -> bool:
    if tx.connection.execute(_SESSION, {"session_id": session_id, "user_id": passkey.user_id}).first() is None:
        return False
    if find_passkey(tx.connection, passkey.credential_id) is not None:
        return False
    if len(list_passkeys(tx.connection, passkey.user_id)) >= MOST_PASSKEYS or not _use_challenge(tx, challenge):
        return False
    tx.connection.execute(insert(passkeys), to_row(passkey))
    tx.emit(UserChanged(user_id=passkey.user_id))
    return True


def _use_challenge(tx: Transaction, challenge: UsedChallenge) -> bool:
    """Mark the challenge as used. Return False if it was used before.

    Used challenges are in the table of used tickets, because both are valid once, and only for a short time.
    """
    return use_tickets(tx, [(f"passkey challenge {challenge.id}", challenge.expires_at)])[0]


def use_passkey(tx: Transaction, use: PasskeyUse, at: float) -> bool:
    """Store the use of the passkey.

    Return False if the passkey was removed, or if the challenge was used before. Also return False if the authenticator's count
    of signatures (`sign_count`) is not higher than the stored count. But both counts may be 0.
    """
    later = passkeys.c.sign_count < use.sign_count if use.sign_count else passkeys.c.sign_count == 0
    using = update(passkeys).where(passkeys.c.id == use.passkey_id, later).values(sign_count=use.sign_count, used_at=at)
    return _use_challenge(tx, use.challenge) and tx.connection.execute(using).rowcount == 1


def find_passkey(connection: Connection, credential_id: str) -> Passkey | None:
    row = connection.execute(_BY_CREDENTIAL, {"credential_id": credential_id}).first()
    return None if row is None else from_row(Passkey, row)


def list_passkeys(connection: Connection, user_id: Id) -> Sequence[Passkey]:
    """Return the passkeys of the user. The oldest is first."""
    return [from_row(Passkey, row) for row in connection.execute(_OF_USER, {"user_id": user_id})]


def rename_passkey(tx: Transaction, user_id: Id, passkey_id: Id, name: str) -> bool:
    one = update(passkeys).where(passkeys.c.user_id == user_id, passkeys.c.id == passkey_id)
    return tx.connection.execute(one.values(name=name)).rowcount == 1


def remove_passkeys(tx: Transaction, user_id: Id, passkey_id: Id | None = None) -> int:
    removing = delete(passkeys).where(passkeys.c.user_id == user_id)
    removed = tx.connection.execute(removing if passkey_id is None else removing.where(passkeys.c.id == passkey_id)).rowcount
    if removed:
        tx.emit(UserChanged(user_id=user_id))
    return removed
