"""Webhooks, how far each has come in the feed, and what its receiver did not take (Decision 0045)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, delete, func, insert, or_, select, update

from domogate.domain.events import Change
from domogate.domain.ids import Id
from domogate.domain.notices import NoticeKind
from domogate.domain.webhooks import PendingDelivery, TooManyWebhooks, Webhook, WebhookFormat
from domogate.stores.codec import NUL, decode_event, decode_texts, to_json
from domogate.stores.engine import chunked
from domogate.stores.lifecycle import StoreLifecycle
from domogate.stores.tables import parked, plants, users, webhooks
from domogate.stores.transaction import Transaction

PRUNE_CHUNK = 1_000

_OF_ID: ColumnElement[bool] = webhooks.c.id == bindparam("of_id")
_LIVES = webhooks.c.ended_at.is_(None)
_FIND = select(webhooks).where(_OF_ID)
_HELD: ColumnElement[bool] = and_(_OF_ID, _LIVES, webhooks.c.holder == bindparam("by"))
_HOLDS = select(webhooks.c.id).where(_HELD)
_CLAIM = (
    update(webhooks)
    .where(_OF_ID, _LIVES, or_(webhooks.c.holder == bindparam("by"), webhooks.c.held_until <= bindparam("now")))
    .values(holder=bindparam("by"), held_until=bindparam("until"))
)
_NEXT_PARKED = (
    select(func.coalesce(func.min(parked.c.next_at), 0.0))
    .where(parked.c.webhook_id == webhooks.c.id, parked.c.dead_at.is_(None))
    .scalar_subquery()
)
_OLDEST_PROBLEM = (
    select(parked.c.problem)
    .where(parked.c.webhook_id == webhooks.c.id, parked.c.dead_at.is_(None), parked.c.attempts > 0)
    .order_by(parked.c.cursor)
    .limit(1)
    .scalar_subquery()
)
# When something is parked it is to be tried again at some time: the row itself says when and why, for who looks at all rows.
_MOVE = (
    update(webhooks)
    .where(_HELD)
    .values(
        position=bindparam("to"),
        failing_since=None,
        failures=0,
        next_at=_NEXT_PARKED,
        problem=func.coalesce(_OLDEST_PROBLEM, bindparam("words")),
    )
)
_HOLD = (
    update(webhooks)
    .where(_HELD)
    .values(
        failing_since=func.coalesce(webhooks.c.failing_since, bindparam("at")),
        failures=webhooks.c.failures + 1,
        next_at=bindparam("next"),
        problem=bindparam("words"),
    )
)
_INSERT = insert(webhooks)


def add_webhook(tx: Transaction, webhook: Webhook, most: int | None) -> bool:
    """ValueError when there is no such user or plant."""
    for table, wanted in ((users, webhook.user_id), (plants, webhook.plant_id)):
        if tx.connection.execute(select(table.c.id).where(table.c.id == wanted)).first() is None:
            raise ValueError(f"there is nothing with the id {wanted} in {table.name}")
    theirs = and_(
        webhooks.c.client_id == webhook.client_id,
        webhooks.c.user_id == webhook.user_id,
        webhooks.c.plant_id == webhook.plant_id,
    )
    living = select(func.count()).select_from(webhooks).where(theirs, _LIVES)
    if most is not None and tx.connection.execute(living).scalar_one() >= most:
        raise TooManyWebhooks
    alike = webhooks.c.url == webhook.url
    if webhook.form is WebhookFormat.THERMOSTAT:
        alike = or_(alike, webhooks.c.form == webhook.form.value)
    if tx.connection.execute(select(webhooks.c.id).where(theirs, alike, _LIVES)).first() is not None:
        return False
    tx.connection.execute(delete(webhooks).where(theirs, alike))
    tx.connection.execute(_INSERT, _to_row(webhook))
    return True


def _to_row(webhook: Webhook) -> dict[str, Any]:
    return {
        "id": webhook.id,
        "client_id": webhook.client_id,
        "user_id": webhook.user_id,
        "grant_id": webhook.grant_id,
        "plant_id": webhook.plant_id,
        "url": webhook.url,
        "secret": webhook.secret,
        "kinds": to_json(webhook.kinds),
        "form": webhook.form.value,
        "created_at": webhook.created_at,
        "position": webhook.position,
        "failing_since": webhook.failing_since,
        "failures": webhook.failures,
        "next_at": webhook.next_at,
        "problem": _storable(webhook.problem),
        "ended_at": webhook.ended_at,
        "ended_why": _storable(webhook.ended_why),
        "holder": "",
        "held_until": 0.0,
    }


def _from_row(row: Row[Any]) -> Webhook:
    return Webhook(
        id=row.id,
        client_id=row.client_id,
        user_id=row.user_id,
        grant_id=row.grant_id,
        plant_id=row.plant_id,
        url=row.url,
        secret=row.secret,
        kinds=tuple(NoticeKind(kind) for kind in decode_texts(row.kinds)),
        form=WebhookFormat(row.form),
        created_at=row.created_at,
        position=row.position,
        failing_since=row.failing_since,
        failures=row.failures,
        next_at=row.next_at,
        problem=row.problem,
        ended_at=row.ended_at,
        ended_why=row.ended_why,
    )


def _storable(words: str) -> str:
    """What a receiver says may be anything; what PostgreSQL would refuse is marked."""
    return words.encode("utf-8", "replace").decode().replace(NUL, "\N{REPLACEMENT CHARACTER}")


def find_webhook(connection: Connection, webhook_id: Id) -> Webhook | None:
    row = connection.execute(_FIND, {"of_id": webhook_id}).first()
    return None if row is None else _from_row(row)


def list_webhooks(connection: Connection, client_id: str | None, user_id: Id | None, plant_id: Id | None) -> Sequence[Webhook]:
    given = {webhooks.c.client_id: client_id, webhooks.c.user_id: user_id, webhooks.c.plant_id: plant_id}
    wanted = [column == value for column, value in given.items() if value is not None]
    rows = connection.execute(select(webhooks).where(*wanted).order_by(webhooks.c.created_at, webhooks.c.id))
    return [_from_row(row) for row in rows]


def set_webhook_secret(tx: Transaction, webhook_id: Id, secret: str) -> bool:
    changing = update(webhooks).where(webhooks.c.id == webhook_id, _LIVES).values(secret=secret)
    return tx.connection.execute(changing).rowcount == 1


def end_webhook(tx: Transaction, webhook_id: Id, why: str, at: float) -> bool:
    ending = update(webhooks).where(webhooks.c.id == webhook_id, _LIVES).values(ended_at=at, ended_why=_storable(why))
    if tx.connection.execute(ending).rowcount == 0:
        return False
    tx.connection.execute(delete(parked).where(parked.c.webhook_id == webhook_id, parked.c.dead_at.is_(None)))
    return True


def delete_webhook(tx: Transaction, webhook_id: Id) -> bool:
    return tx.connection.execute(delete(webhooks).where(webhooks.c.id == webhook_id)).rowcount == 1


# delivering


def claim_webhook(tx: Transaction, webhook_id: Id, holder: str, now: float, until: float) -> Webhook | None:
    claimed = tx.connection.execute(_CLAIM, {"of_id": webhook_id, "by": holder, "now": now, "until": until}).rowcount == 1
    return find_webhook(tx.connection, webhook_id) if claimed else None


def release_webhooks(tx: Transaction, holder: str) -> None:
    tx.connection.execute(update(webhooks).where(webhooks.c.holder == holder).values(holder="", held_until=0.0))


def move_webhook(tx: Transaction, webhook_id: Id, holder: str, position: int, items: Sequence[PendingDelivery]) -> bool:
    who = {"of_id": webhook_id, "by": holder}
    if items and tx.connection.execute(_HOLDS, who).first() is None:
        return False
    for item in items:
        save_pending(tx, item)
    problem = next((item.problem for item in items if item.attempts), "")
    return tx.connection.execute(_MOVE, {**who, "to": position, "words": _storable(problem)}).rowcount == 1


def hold_webhook(tx: Transaction, webhook_id: Id, holder: str, at: float, next_at: float, problem: str) -> bool:
    told = {"of_id": webhook_id, "by": holder, "at": at, "next": next_at, "words": _storable(problem)}
    return tx.connection.execute(_HOLD, told).rowcount == 1


# what was not taken


def list_pending(
    connection: Connection, webhook_id: Id, dead: bool, after: int, limit: int, due_at: float | None
) -> Sequence[PendingDelivery]:
    wanted = [
        parked.c.webhook_id == webhook_id,
        parked.c.dead_at.is_not(None) if dead else parked.c.dead_at.is_(None),
        parked.c.cursor > after,
    ]
    if due_at is not None:
        wanted.append(parked.c.next_at <= due_at)
    rows = connection.execute(select(parked).where(*wanted).order_by(parked.c.cursor).limit(limit))
    return [_parked_from_row(row) for row in rows]


def _parked_from_row(row: Row[Any]) -> PendingDelivery:
    return PendingDelivery(
        webhook_id=row.webhook_id,
        change=Change(row.cursor, row.at, decode_event(row.event)),
        module_id=row.module_id,
        attempts=row.attempts,
        next_at=row.next_at,
        problem=row.problem,
        dead_at=row.dead_at,
    )


def _parked_to_row(item: PendingDelivery) -> Mapping[str, Any]:
    return {
        "webhook_id": item.webhook_id,
        "cursor": item.change.cursor,
        "at": item.change.at,
        "module_id": item.module_id,
        "event": to_json(item.change.event),
        "attempts": item.attempts,
        "next_at": item.next_at,
        "problem": _storable(item.problem),
        "dead_at": item.dead_at,
    }


def save_pending(tx: Transaction, item: PendingDelivery) -> None:
    """Nothing is kept for a webhook that has ended meanwhile or is gone, dead letters apart."""
    found = find_webhook(tx.connection, item.webhook_id)
    if found is not None and (found.ended_at is None or item.dead_at is not None):
        tx.connection.execute(tx.upsert(parked), _parked_to_row(item))
        if item.dead_at is not None:
            _let_next_come(tx, item.webhook_id, item.module_id, item.next_at)


def _let_next_come(tx: Transaction, webhook_id: Id, module_id: Id | None, at: float) -> None:
    """In the same write as the one before it goes: a crash in between must not leave it waiting for ever."""
    waiting = (
        select(parked.c.cursor)
        .where(parked.c.webhook_id == webhook_id, parked.c.dead_at.is_(None))
        .where(parked.c.module_id.is_not_distinct_from(module_id))
        .order_by(parked.c.cursor)
        .limit(1)
    )
    cursor = tx.connection.execute(waiting).scalar()
    if cursor is not None:
        this = and_(parked.c.webhook_id == webhook_id, parked.c.cursor == cursor)
        tx.connection.execute(update(parked).where(this, parked.c.next_at > at).values(next_at=at))


def remove_pending(tx: Transaction, webhook_id: Id, cursor: int) -> bool:
    gone = delete(parked).where(parked.c.webhook_id == webhook_id, parked.c.cursor == cursor)
    row = tx.connection.execute(gone.returning(parked.c.module_id, parked.c.next_at, parked.c.dead_at)).first()
    if row is not None and row.dead_at is None:
        _let_next_come(tx, webhook_id, row.module_id, min(row.next_at, tx.now))
    return row is not None


def replay_dead(tx: Transaction, webhook_id: Id, cursors: Collection[int] | None, at: float) -> int:
    dead = and_(parked.c.webhook_id == webhook_id, parked.c.dead_at.is_not(None))
    again = update(parked).values(dead_at=None, attempts=0, next_at=at)
    if cursors is None:
        replayed = tx.connection.execute(again.where(dead)).rowcount
    else:
        parts = [again.where(dead, parked.c.cursor.in_(part)) for part in chunked(sorted(set(cursors)))]
        replayed = sum(tx.connection.execute(part).rowcount for part in parts)
    if replayed:
        tx.connection.execute(update(webhooks).where(webhooks.c.id == webhook_id, _LIVES).values(next_at=at))
    return replayed


def prune_pending(tx: Transaction, dead_before: float) -> bool:
    """A piece at a time; True: there are more."""
    oldest = select(parked.c.webhook_id, parked.c.cursor).where(parked.c.dead_at < dead_before).limit(PRUNE_CHUNK)
    gone = [{"of_id": row.webhook_id, "at": row.cursor} for row in tx.connection.execute(oldest)]
    removing = delete(parked).where(parked.c.webhook_id == bindparam("of_id"), parked.c.cursor == bindparam("at"))
    if gone:
        tx.connection.execute(removing, gone)
    return len(gone) == PRUNE_CHUNK


class WebhookRows(StoreLifecycle):
    """Webhooks and what they could not deliver."""

    async def add_webhook(self, webhook: Webhook, *, most: int | None = None) -> bool:
        return await self._write(add_webhook, webhook, most)

    async def find_webhook(self, webhook_id: Id) -> Webhook | None:
        return await self._read(find_webhook, webhook_id)

    async def list_webhooks(
        self, *, client_id: str | None = None, user_id: Id | None = None, plant_id: Id | None = None
    ) -> Sequence[Webhook]:
        return await self._read(list_webhooks, client_id, user_id, plant_id)

    async def set_webhook_secret(self, webhook_id: Id, secret: str) -> bool:
        return await self._write(set_webhook_secret, webhook_id, secret)

    async def end_webhook(self, webhook_id: Id, why: str, at: float) -> bool:
        return await self._write(end_webhook, webhook_id, why, at)

    async def delete_webhook(self, webhook_id: Id) -> bool:
        return await self._write(delete_webhook, webhook_id)

    async def claim_webhook(self, webhook_id: Id, holder: str, now: float, until: float) -> Webhook | None:
        return await self._write(claim_webhook, webhook_id, holder, now, until)

    async def release_webhooks(self, holder: str) -> None:
        await self._write(release_webhooks, holder)

    async def move_webhook(self, webhook_id: Id, holder: str, position: int, parked: Sequence[PendingDelivery] = ()) -> bool:
        return await self._write(move_webhook, webhook_id, holder, position, parked)

    async def hold_webhook(self, webhook_id: Id, holder: str, at: float, next_at: float, problem: str) -> bool:
        return await self._write(hold_webhook, webhook_id, holder, at, next_at, problem)

    async def list_pending(
        self, webhook_id: Id, *, dead: bool, after: int = 0, limit: int, due_at: float | None = None
    ) -> Sequence[PendingDelivery]:
        return await self._read(list_pending, webhook_id, dead, after, limit, due_at)

    async def save_pending(self, parked: PendingDelivery) -> None:
        await self._write(save_pending, parked)

    async def remove_pending(self, webhook_id: Id, cursor: int) -> bool:
        return await self._write(remove_pending, webhook_id, cursor)

    async def replay_dead(self, webhook_id: Id, cursors: Collection[int] | None, at: float) -> int:
        return await self._write(replay_dead, webhook_id, cursors, at)

    async def prune_pending(self, dead_before: float) -> None:
        """In pieces, so that other writes get their turn in between."""
        while await self._write(prune_pending, dead_before):
            pass
