"""Stores subscription keys with their daily usage, and the signing keys of the gateway."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from domogate.domain.events import SigningKeysChanged, SubscriptionChanged
from domogate.domain.ids import Id
from domogate.domain.people import Subscription, oldest_first
from domogate.ports import SigningKey, Usage
from domogate.stores.codec import from_row, to_row
from domogate.stores.engine import Database, Transaction
from domogate.stores.sealing import seal, unseal
from domogate.stores.subject import SqlSubject, reads, writes
from domogate.stores.tables.keys import signing_keys, subscriptions, usages
from domogate.stores.write_lock import WriteLock

_BY_KEY = select(subscriptions).where(subscriptions.c.key_hash == bindparam("key_hash"))
_USAGE = select(usages.c.count).where(
    usages.c.subscription_id == bindparam("subscription_id"), usages.c.day == bindparam("day")
)

_adding: dict[type[Database], Any] = {}
"""For each kind of database, the statement of `_get_adding`. It is kept, because building it takes longer than executing it."""


def find_subscription(connection: Connection, key_hash: str) -> Subscription | None:
    row = connection.execute(_BY_KEY, {"key_hash": key_hash}).first()
    return None if row is None else from_row(Subscription, row)


def list_subscriptions(connection: Connection) -> Sequence[Subscription]:
    """Return all subscriptions. The oldest is first."""
    return oldest_first([from_row(Subscription, row) for row in connection.execute(select(subscriptions))])


def add_subscription(tx: Transaction, subscription: Subscription) -> None:
    if find_subscription(tx.connection, subscription.key_hash) is not None:
        raise ValueError("this subscription key is already in use")
    tx.connection.execute(insert(subscriptions), to_row(subscription))
    tx.emit(SubscriptionChanged(key_hash=subscription.key_hash))


def revoke_subscription(tx: Transaction, subscription_id: Id, at: float) -> bool | None:
    """Revoke the subscription. Return False if it is revoked already. Return None if there is no such subscription.

    The time of an earlier revocation does not change.
    """
    row = tx.connection.execute(select(subscriptions).where(subscriptions.c.id == subscription_id)).first()
    if row is None:
        return None
    if row.revoked_at is not None:
        return False
    tx.connection.execute(update(subscriptions).where(subscriptions.c.id == subscription_id).values(revoked_at=at))
    tx.emit(SubscriptionChanged(key_hash=row.key_hash))
    return True


def remove_subscriptions(tx: Transaction, ids: Sequence[Id]) -> None:
    for subscription_id in ids:
        removed = delete(subscriptions).where(subscriptions.c.id == subscription_id).returning(subscriptions.c.key_hash)
        tx.emit(SubscriptionChanged(key_hash=tx.connection.execute(removed).scalar_one()))


def add_usage(tx: Transaction, counts: Sequence[Usage]) -> Sequence[Usage]:
    """Add these numbers of requests to the stored numbers of the same subscription and day. Return the sums.

    The usage of deleted subscriptions is ignored.
    """
    total: Counter[tuple[Id, str]] = Counter()
    for usage in counts:
        total[usage.subscription_id, usage.day] += usage.count
    subscription_ids = {usage.subscription_id for usage in counts}
    known = {row[0] for row in tx.database.find_rows(tx.connection, subscriptions.c.id, subscription_ids)}
    rows = [{"subscription_id": of, "day": day, "count": count} for (of, day), count in total.items() if of in known]
    if not rows:
        return ()
    return [Usage(of, day, count) for of, day, count in tx.connection.execute(_get_adding(tx.database), rows)]


def _get_adding(database: Database) -> Any:
    """Return the statement that adds numbers of requests to the stored numbers and returns the sums."""
    kind = type(database)
    if kind not in _adding:
        statement = database.insert(usages)
        statement = statement.on_conflict_do_update(
            index_elements=["subscription_id", "day"], set_={"count": usages.c.count + statement.excluded.count}
        )
        _adding[kind] = statement.returning(usages.c.subscription_id, usages.c.day, usages.c.count)
    return _adding[kind]


def find_usage(connection: Connection, subscription_id: Id, day: str) -> int:
    return connection.execute(_USAGE, {"subscription_id": subscription_id, "day": day}).scalar() or 0


def list_usages(connection: Connection, day: str) -> dict[Id, int]:
    rows = connection.execute(select(usages.c.subscription_id, usages.c.count).where(usages.c.day == day))
    return {row.subscription_id: row[1] for row in rows}


def list_signing_keys(connection: Connection) -> Sequence[SigningKey]:
    """Return all keys. The oldest is first."""
    rows = connection.execute(select(signing_keys).order_by(signing_keys.c.created_at, signing_keys.c.kid))
    jwk = signing_keys.c.jwk
    return [from_row(SigningKey, row, jwk=unseal(connection, jwk, row.kid, row.jwk)) for row in rows]


def change_signing_keys(
    tx: Transaction, change: Callable[[Sequence[SigningKey]], Sequence[SigningKey]]
) -> Sequence[SigningKey]:
    """Write the keys that `change` returns. A returned key replaces the stored key with the same `kid`.

    A retired key signs no new tokens. The gateway still accepts its tokens for some time. To retire a key, `change` returns a
    copy with `retired_at`.
    """
    changed = change(list_signing_keys(tx.connection))
    for key in changed:
        tx.connection.execute(tx.upsert(signing_keys), to_row(key, jwk=seal(tx, signing_keys.c.jwk, key.kid, key.jwk)))
    if changed:
        tx.emit(SigningKeysChanged())
    return changed


class SqlKeys(SqlSubject):
    """Stores subscription keys and signing keys. Implements SubscriptionStore and SigningKeyStore."""

    find_subscription = reads(find_subscription)
    list_subscriptions = reads(list_subscriptions)
    add_subscription = writes(add_subscription)
    revoke_subscription = writes(revoke_subscription)
    add_usage = writes(add_usage, lock=WriteLock.USAGE)
    find_usage = reads(find_usage)
    list_usages = reads(list_usages)
    list_signing_keys = reads(list_signing_keys)
    change_signing_keys = writes(change_signing_keys)
