"""Attempts at proving who one is, counted for all processes alike: each is counted in the write transaction of its moment."""

from sqlalchemy import Connection, bindparam, delete, func, select

from domogate.domain.attempts import Attempt, Count
from domogate.stores.tables import attempts
from domogate.stores.transaction import Transaction

MOST_KEPT = 100_000
PRUNE_CHUNK = 1_000
_FORGOTTEN_AT_ONCE = 10

_COUNTS = select(attempts).where(attempts.c.key.in_(bindparam("keys", expanding=True)), attempts.c.expires_at > bindparam("at"))
_FORGET = delete(attempts).where(attempts.c.key == bindparam("gone"))
_SOME_EXPIRED = delete(attempts).where(
    attempts.c.key.in_(select(attempts.c.key).where(attempts.c.expires_at <= bindparam("at")).limit(_FORGOTTEN_AT_ONCE))
)


class _Kept:
    """What is kept of one attempt's account and address, at one moment."""

    def __init__(self, tx: Transaction, attempt: Attempt, at: float) -> None:
        self._tx = tx
        self._at = at
        self._attempt = attempt
        keys = [attempt.account, attempt.address, attempt.familiar]
        rows = tx.connection.execute(_COUNTS, {"keys": keys, "at": at})
        self._known = {row.key: (Count(row.number, row.at), row.expires_at) for row in rows}
        self.who = attempt.familiar if attempt.familiar in self._known else attempt.account
        self.limits = ((self.who, attempt.account_limit), (attempt.address, attempt.address_limit))

    def find(self, key: str) -> Count | None:
        found = self._known.get(key)
        return None if found is None else found[0]

    def keep(self, key: str, count: Count, until: float) -> None:
        # Where an owner got in stays known for as long as it would have, however often somebody fails there.
        known = self._known.get(key, (None, until))[1]
        row = {"key": key, "number": count.number, "at": count.at, "expires_at": max(until, known)}
        self._tx.connection.execute(self._tx.upsert(attempts), row)

    def take_back(self, key: str) -> None:
        count = self.find(key)
        if count is None:
            return
        left = Count(max(0.0, count.number - 1), count.at)
        if left.number or key == self._attempt.familiar:
            self.keep(key, left, self._known[key][1])
        else:
            self._tx.connection.execute(_FORGET, {"gone": key})


def admit(tx: Transaction, attempt: Attempt, at: float) -> float:
    kept = _Kept(tx, attempt, at)
    wait = max(limit.wait(kept.find(key), at) for key, limit in kept.limits)
    if wait > 0:
        return wait
    for key, limit in kept.limits:
        count = limit.one_more(kept.find(key), at)
        kept.keep(key, count, limit.forgotten_at(count))
    # Whoever adds a little takes away more, so that it stays small between two prunings.
    tx.connection.execute(_SOME_EXPIRED, {"at": at})
    return 0.0


def take_back(tx: Transaction, attempt: Attempt, at: float) -> None:
    kept = _Kept(tx, attempt, at)
    for key, _ in kept.limits:
        kept.take_back(key)


def succeed(tx: Transaction, attempt: Attempt, at: float) -> None:
    """The account starts anew; the address does not, or one account of one's own would reset it for all others."""
    kept = _Kept(tx, attempt, at)
    kept.take_back(attempt.address)
    tx.connection.execute(_FORGET, {"gone": attempt.account})
    kept.keep(attempt.familiar, Count(0.0, at), at + attempt.familiar_kept)


def prune_surplus(tx: Transaction, most: int) -> bool:
    """Forget what would be forgotten first, as long as there are more than `most`, a piece at a time; True: there is more."""
    surplus = min(_count(tx.connection) - most, PRUNE_CHUNK)
    if surplus <= 0:
        return False
    first = select(attempts.c.key).order_by(attempts.c.expires_at).limit(surplus)
    tx.connection.execute(delete(attempts).where(attempts.c.key.in_(first)))
    return surplus == PRUNE_CHUNK


def _count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(attempts)).scalar_one()
