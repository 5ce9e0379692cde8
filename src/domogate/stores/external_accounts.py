"""Stores which accounts at external issuers are bound to which users.

An account is identified by its issuer and by the claim `sub` of its tokens.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select

from domogate.domain.events import UserChanged
from domogate.domain.ids import Id
from domogate.domain.people import ExternalAccount, User
from domogate.stores.codec import from_row, to_row
from domogate.stores.engine import Transaction
from domogate.stores.people import find_user, find_user_by_email
from domogate.stores.tables.identity import external_accounts

_BOUND = select(external_accounts.c.user_id).where(
    external_accounts.c.issuer == bindparam("issuer"), external_accounts.c.subject == bindparam("subject")
)
_OF_USER = (
    select(external_accounts)
    .where(external_accounts.c.user_id == bindparam("user_id"))
    .order_by(external_accounts.c.bound_at, external_accounts.c.issuer)
)


def find_external_user(connection: Connection, issuer: str, subject: str) -> User | None:
    user_id = connection.execute(_BOUND, {"issuer": issuer, "subject": subject}).scalar()
    return None if user_id is None else find_user(connection, user_id)


def bind_external_account(tx: Transaction, issuer: str, subject: str, email: str, at: float) -> User | None:
    bound = find_external_user(tx.connection, issuer, subject)
    if bound is not None:
        return bound
    user = find_user_by_email(tx.connection, email)
    if user is None or not user.active:
        return None
    if any(account.issuer == issuer for account in list_external_accounts(tx.connection, user.id)):
        return None
    tx.connection.execute(insert(external_accounts), to_row(ExternalAccount(issuer, subject, user.id, at)))
    return user


def list_external_accounts(connection: Connection, user_id: Id) -> Sequence[ExternalAccount]:
    """Return the user's accounts at external issuers. The account that was bound first is first."""
    return [from_row(ExternalAccount, row) for row in connection.execute(_OF_USER, {"user_id": user_id})]


def unbind_external_accounts(tx: Transaction, user_id: Id) -> int:
    unbound = tx.connection.execute(delete(external_accounts).where(external_accounts.c.user_id == user_id)).rowcount
    if unbound:
        tx.emit(UserChanged(user_id=user_id))  # Tokens that were verified with the old binding are verified again.
    return unbound
