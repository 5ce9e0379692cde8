"""Counts login attempts in the database, for all processes together."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, delete, func, select

from domogate.domain.attempts import Attempt, Count, Limit, Wait
from domogate.stores.direct import DirectStatement
from domogate.stores.engine import Transaction
from domogate.stores.tables.identity import attempts

MOST_KEPT = 100_000
PRUNE_CHUNK = 1_000
_FORGOTTEN_AT_ONCE = 10

_REMOVE = delete(attempts).where(attempts.c.key == bindparam("gone"))
_SOME_EXPIRED = DirectStatement(
    delete(attempts).where(
        attempts.c.key.in_(select(attempts.c.key).where(attempts.c.expires_at <= bindparam("at")).limit(_FORGOTTEN_AT_ONCE))
    )
)


class _Counts:
    """The stored counts of some attempts. `save` and `remove` only note changes; `write` stores all of them together."""

    def __init__(self, tx: Transaction, given: Sequence[Attempt], at: float) -> None:
        self._tx = tx
        keys = [key for attempt in given for key in (attempt.account, attempt.address, attempt.familiar)]
        rows = tx.database.find_rows(tx.connection, attempts.c.key, keys)
        self._known = {key: (Count(number, since), until) for key, number, since, until in rows if until > at}
        self._removed: list[str] = []
        self._saved: list[dict[str, str | float]] = []

    def limits_of(self, attempt: Attempt) -> tuple[tuple[str, Limit], tuple[str, Limit]]:
        """Return two counters, each as its key and its limit.

        The first is the counter of the account, the second is the counter of the IP address.

        If somebody logged in to this account from this IP address not long ago, attempts from there have their own
        counter (`attempt.familiar`). Then this counter is the first, instead of the counter of the account.
        """
        account = attempt.familiar if attempt.familiar in self._known else attempt.account
        return (account, attempt.account_limit), (attempt.address, attempt.address_limit)

    def find(self, key: str) -> Count | None:
        found = self._known.get(key)
        return None if found is None else found[0]

    def save(self, key: str, count: Count, until: float) -> None:
        # A failed attempt does not shorten the time for which the store knows a familiar address.
        known = self._known.get(key, (None, until))[1]
        self._saved.append({"key": key, "number": count.number, "at": count.at, "expires_at": max(until, known)})

    def remove(self, key: str) -> None:
        if key in self._known:
            self._removed.append(key)

    def take_back(self, key: str, attempt: Attempt) -> None:
        count = self.find(key)
        if count is None:
            return
        left = Count(max(0.0, count.number - 1), count.at)
        if left.number or key == attempt.familiar:
            self.save(key, left, self._known[key][1])
        else:
            self.remove(key)

    def write(self) -> None:
        self._tx.execute_bulk(_REMOVE, [{"gone": key} for key in self._removed])
        self._tx.execute_bulk(self._tx.upsert(attempts), self._saved)


def admit(tx: Transaction, attempt: Attempt, at: float) -> Wait:
    counts = _Counts(tx, (attempt,), at)
    limits = counts.limits_of(attempt)
    wait = Wait(*(limit.wait(counts.find(key), at) for key, limit in limits))
    if wait.seconds > 0:
        return wait
    for key, limit in limits:
        count = limit.one_more(counts.find(key), at)
        counts.save(key, count, limit.forgotten_at(count))
    counts.write()
    # Each attempt can remove more rows than it adds, so that the table stays small between two prunings.
    _SOME_EXPIRED.execute(tx.connection, {"at": at})
    return wait


def take_back(tx: Transaction, attempt: Attempt, at: float) -> None:
    counts = _Counts(tx, (attempt,), at)
    for key, _ in counts.limits_of(attempt):
        counts.take_back(key, attempt)
    counts.write()


def succeed(tx: Transaction, attempt: Attempt, at: float) -> None:
    """Record that the attempt succeeded: reset the count of the account, and subtract this attempt from the IP address's count.

    The count of the IP address is not reset. Otherwise an attacker could reset it by logging in to their own account.
    """
    succeed_all(tx, (attempt,), at)


def succeed_all(tx: Transaction, succeeded: Sequence[Attempt], at: float) -> None:
    """Record that these attempts succeeded. No two of them may have the same `account`, `address` or `familiar`.

    Reset the count of each account, and subtract each attempt from the count of its IP address. Also store that the person
    logged in from this IP address. This needs only three SQL statements for all attempts together.
    """
    counts = _Counts(tx, succeeded, at)
    for attempt in succeeded:
        counts.take_back(attempt.address, attempt)
        counts.remove(attempt.account)
        counts.save(attempt.familiar, Count(0.0, at), at + attempt.familiar_kept)
    counts.write()


def prune_surplus(tx: Transaction, most: int) -> bool:
    """If there are more than `most` rows, remove some of the rows that expire first.

    Return True if there may still be too many rows.
    """
    surplus = min(_count(tx.connection) - most, PRUNE_CHUNK)
    if surplus <= 0:
        return False
    first = select(attempts.c.key).order_by(attempts.c.expires_at).limit(surplus)
    tx.connection.execute(delete(attempts).where(attempts.c.key.in_(first)))
    return surplus == PRUNE_CHUNK


def _count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(attempts)).scalar_one()
