"""Stores webhooks, their positions in the change feed, and their pending deliveries (Decision 0045)."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar, TypeVarTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, bindparam, delete, func, insert, null, or_, select, update
from sqlalchemy.sql.dml import Update, UpdateBase

from domogate.domain.events import Change, WebhookChanged
from domogate.domain.ids import Id
from domogate.domain.notices import NoticeKind
from domogate.domain.webhooks import PendingDelivery, TooManyWebhooks, Webhook, WebhookFormat
from domogate.stores.codec import decode_event, decode_texts, from_row, storable, to_json, to_row
from domogate.stores.direct import DirectStatement
from domogate.stores.engine import Transaction, chunked
from domogate.stores.sealing import seal, unseal
from domogate.stores.subject import SqlSubject, reads, repeats, writes
from domogate.stores.tables.feed import changes
from domogate.stores.tables.identity import users
from domogate.stores.tables.notices import parked, webhooks
from domogate.stores.tables.plants import plants
from domogate.stores.webhook_moves import Move, WebhookMoves

PRUNE_CHUNK = 1_000

A = TypeVarTuple("A")
T = TypeVar("T")

_OF_ID: ColumnElement[bool] = webhooks.c.id == bindparam("of_id")
_ACTIVE = webhooks.c.ended_at.is_(None)
_FIND = select(webhooks).where(_OF_ID)
_ACTIVE_OF_ID: ColumnElement[bool] = and_(_OF_ID, _ACTIVE)
_IS_ACTIVE = select(webhooks.c.id).where(_ACTIVE_OF_ID)
_PLANTS = select(webhooks.c.plant_id).where(_ACTIVE).distinct()
_NEXT_PENDING = (
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
# The time and the problem of the next pending delivery are copied to the row of the webhook, for lists of webhooks.
_MOVE = DirectStatement(
    update(webhooks)
    .where(_ACTIVE_OF_ID)
    .values(
        position=bindparam("to"),
        failing_since=null(),
        failures=0,
        next_at=_NEXT_PENDING,
        problem=func.coalesce(_OLDEST_PROBLEM, bindparam("words")),
    )
)
_HELD = ("position", "failing_since", "failures", "next_at")
_INSERT = insert(webhooks)
# A pending delivery has a copy of its event only if the change was pruned from the feed.
_PENDING: Select[Any] = select(
    *(column for column in parked.c if column.name != "event"),
    func.coalesce(func.nullif(parked.c.event, ""), changes.c.event).label("event"),
).outerjoin(changes, changes.c.cursor == parked.c.cursor)
_EVENT_AT = select(changes.c.event).where(changes.c.cursor == bindparam("at"))


def add_webhook(tx: Transaction, webhook: Webhook, *, most: int | None = None) -> bool:
    """Add the webhook, as `WebhookStore.add_webhook` describes. Raises ValueError if the user or the plant does not exist."""
    for table, wanted in ((users, webhook.user_id), (plants, webhook.plant_id)):
        if tx.connection.execute(select(table.c.id).where(table.c.id == wanted)).first() is None:
            raise ValueError(f"there is no row with the id {wanted} in {table.name}")
    theirs = and_(
        webhooks.c.client_id == webhook.client_id,
        webhooks.c.user_id == webhook.user_id,
        webhooks.c.plant_id == webhook.plant_id,
    )
    alike = webhooks.c.url == webhook.url
    if webhook.form is WebhookFormat.THERMOSTAT:
        alike = or_(alike, webhooks.c.form == webhook.form.value)
    if tx.connection.execute(select(webhooks.c.id).where(theirs, alike, _ACTIVE)).first() is not None:
        return False
    active = select(func.count()).select_from(webhooks).where(theirs, _ACTIVE)
    if most is not None and tx.connection.execute(active).scalar_one() >= most:
        raise TooManyWebhooks
    tx.connection.execute(delete(webhooks).where(theirs, alike))
    tx.connection.execute(_INSERT, _to_row(tx, webhook))
    tx.emit(WebhookChanged(webhook_id=webhook.id, of_plant=webhook.plant_id))
    return True


def _to_row(tx: Transaction, webhook: Webhook) -> dict[str, Any]:
    return to_row(
        webhook,
        secret=seal(tx, webhooks.c.secret, webhook.id, webhook.secret),
        kinds=to_json(webhook.kinds),
        scopes=to_json(webhook.scopes),
        form=webhook.form.value,
        problem=storable(webhook.problem),
        ended_why=storable(webhook.ended_why),
        holder="",
        held_until=0.0,
    )


def _from_row(connection: Connection, row: Row[Any]) -> Webhook:
    kinds = tuple(NoticeKind(kind) for kind in decode_texts(row.kinds))
    return from_row(
        Webhook,
        row,
        kinds=kinds,
        scopes=decode_texts(row.scopes),
        form=WebhookFormat(row.form),
        secret=unseal(connection, webhooks.c.secret, row.id, row.secret),
    )


def find_webhook(connection: Connection, webhook_id: Id) -> Webhook | None:
    row = connection.execute(_FIND, {"of_id": webhook_id}).first()
    return None if row is None else _from_row(connection, row)


def list_webhooks(
    connection: Connection,
    *,
    client_id: str | None = None,
    user_id: Id | None = None,
    plant_id: Id | None = None,
    with_dead: bool = False,
) -> Sequence[Webhook]:
    given = {webhooks.c.client_id: client_id, webhooks.c.user_id: user_id, webhooks.c.plant_id: plant_id}
    wanted = [column == value for column, value in given.items() if value is not None]
    if with_dead:
        wanted.append(webhooks.c.id.in_(select(parked.c.webhook_id).where(parked.c.dead_at.is_not(None))))
    rows = connection.execute(select(webhooks).where(*wanted).order_by(webhooks.c.created_at, webhooks.c.id))
    return [_from_row(connection, row) for row in rows]


def list_active_webhooks(connection: Connection, is_wanted: Callable[[Id], bool]) -> Sequence[Webhook]:
    active = select(webhooks).where(_ACTIVE).order_by(webhooks.c.created_at, webhooks.c.id)
    plant_ids = [plant_id for plant_id in connection.execute(_PLANTS).scalars() if is_wanted(plant_id)]
    pages = (connection.execute(active.where(webhooks.c.plant_id.in_(some))) for some in chunked(plant_ids))
    return [_from_row(connection, row) for rows in pages for row in rows]


def _change(tx: Transaction, webhook_id: Id, changing: UpdateBase) -> bool:
    """Execute the statement, and emit an event for the gateway that delivers the webhook.

    Return False, and emit no event, if the statement changes no webhook.
    """
    plant_id = tx.connection.execute(changing.returning(webhooks.c.plant_id)).scalar()
    if plant_id is not None:
        tx.emit(WebhookChanged(webhook_id=webhook_id, of_plant=plant_id))
    return plant_id is not None


def _update_active(webhook_id: Id) -> Update:
    return update(webhooks).where(webhooks.c.id == webhook_id, _ACTIVE)


def set_webhook_secret(tx: Transaction, webhook_id: Id, secret: str) -> bool:
    sealed = seal(tx, webhooks.c.secret, webhook_id, secret)
    return _change(tx, webhook_id, _update_active(webhook_id).values(secret=sealed))


def end_webhook(tx: Transaction, webhook_id: Id, why: str, at: float) -> bool:
    if not _change(tx, webhook_id, _update_active(webhook_id).values(ended_at=at, ended_why=storable(why))):
        return False
    tx.connection.execute(delete(parked).where(parked.c.webhook_id == webhook_id, parked.c.dead_at.is_(None)))
    return True


def delete_webhook(tx: Transaction, webhook_id: Id) -> bool:
    return _change(tx, webhook_id, delete(webhooks).where(webhooks.c.id == webhook_id))


# --- Delivery ---------------------------------------------------------------------------------------------------------


def move_webhook(tx: Transaction, webhook_id: Id, position: int, pending: Sequence[PendingDelivery] = ()) -> bool:
    if pending and tx.connection.execute(_IS_ACTIVE, {"of_id": webhook_id}).first() is None:
        return False
    for item in pending:
        save_pending(tx, item)
    problem = next((item.problem for item in pending if item.attempts), "")
    return _MOVE.execute(tx.connection, {"of_id": webhook_id, "to": position, "words": storable(problem)}) == 1


def move_webhooks(tx: Transaction, moves: Sequence[Move]) -> Sequence[bool]:
    """Store new positions of webhooks. To store new pending deliveries too, use `move_webhook`.

    Return for each webhook whether it is active.
    """
    if _MOVE.execute_many(tx.connection, [{"of_id": of_id, "to": to, "words": ""} for of_id, to in moves]) == len(moves):
        return [True] * len(moves)
    return [tx.connection.execute(_IS_ACTIVE, {"of_id": of_id}).first() is not None for of_id, _ in moves]


def hold_webhook(tx: Transaction, webhook: Webhook, pending: Sequence[PendingDelivery] = ()) -> bool:
    held = {name: getattr(webhook, name) for name in _HELD} | {"problem": storable(webhook.problem)}
    if tx.connection.execute(_update_active(webhook.id).values(held)).rowcount == 0:
        return False
    for item in pending:
        save_pending(tx, item)
    return True


# --- Pending deliveries -----------------------------------------------------------------------------------------------


def list_pending(
    connection: Connection, webhook_id: Id, *, dead: bool, after: int = 0, limit: int, due_at: float | None = None
) -> Sequence[PendingDelivery]:
    wanted = [
        parked.c.webhook_id == webhook_id,
        parked.c.dead_at.is_not(None) if dead else parked.c.dead_at.is_(None),
        parked.c.cursor > after,
    ]
    if due_at is not None:
        wanted.append(parked.c.next_at <= due_at)
    rows = connection.execute(_PENDING.where(*wanted).order_by(parked.c.cursor).limit(limit))
    return [_pending_from_row(row) for row in rows]


def _pending_from_row(row: Row[Any]) -> PendingDelivery:
    return from_row(PendingDelivery, row, change=Change(row.cursor, row.at, decode_event(row.event)))


def _pending_to_row(tx: Transaction, pending: PendingDelivery) -> dict[str, Any]:
    change, event = pending.change, to_json(pending.change.event)
    if tx.connection.execute(_EVENT_AT, {"at": change.cursor}).scalar() == event:
        event = ""  # The row refers to the change in the feed.
    row = to_row(pending, problem=storable(pending.problem), cursor=change.cursor, at=change.at, event=event)
    del row["change"]
    return row


def save_pending(tx: Transaction, pending: PendingDelivery) -> None:
    """Add or replace the delivery. If the webhook is not stored any more, nothing is written.

    If the webhook is stored but has ended, the delivery is written only if it is a dead letter. If the delivery is
    a dead letter, the next delivery of the same module does not wait for it any more.
    """
    found = find_webhook(tx.connection, pending.webhook_id)
    if found is not None and (found.ended_at is None or pending.dead_at is not None):
        tx.connection.execute(tx.upsert(parked), _pending_to_row(tx, pending))
        if pending.dead_at is not None:
            _release_next(tx, pending.webhook_id, pending.module_id, pending.next_at)


def _release_next(tx: Transaction, webhook_id: Id, module_id: Id | None, at: float) -> None:
    """Make the next pending delivery of the module due at the time `at`, if it is not due earlier.

    Events of one module are delivered one after the other. So call this function after a delivery of the module was removed or
    became a dead letter.
    """
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
        _release_next(tx, webhook_id, row.module_id, min(row.next_at, tx.now))
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
        _change(tx, webhook_id, _update_active(webhook_id).values(next_at=at))
    return replayed


def prune_pending(tx: Transaction, dead_before: float) -> bool:
    """Remove webhooks that ended before `dead_before`, with their dead letters.

    Also remove some of the dead letters that were given up before `dead_before`. Return True if there may be more of them.
    """
    tx.connection.execute(delete(webhooks).where(webhooks.c.ended_at < dead_before))
    oldest = select(parked.c.webhook_id, parked.c.cursor).where(parked.c.dead_at < dead_before).limit(PRUNE_CHUNK)
    gone = [{"of_id": row.webhook_id, "at": row.cursor} for row in tx.connection.execute(oldest)]
    removing = delete(parked).where(parked.c.webhook_id == bindparam("of_id"), parked.c.cursor == bindparam("at"))
    if gone:
        tx.connection.execute(removing, gone)
    return len(gone) == PRUNE_CHUNK


class SqlWebhooks(SqlSubject):
    """Stores webhooks and their pending deliveries. Implements WebhookStore."""

    add_webhook = writes(add_webhook)
    find_webhook = reads(find_webhook)
    list_webhooks = reads(list_webhooks)
    list_active_webhooks = reads(list_active_webhooks)
    set_webhook_secret = writes(set_webhook_secret)
    end_webhook = writes(end_webhook)
    delete_webhook = writes(delete_webhook)
    list_pending = reads(list_pending)
    replay_dead = writes(replay_dead)
    prune_pending = repeats(prune_pending)

    _moves: WebhookMoves | None = None
    """Writes the positions of many webhooks together.

    Not used in a cluster: there, the store checks the epoch of the shard for each position separately.
    """

    async def move_webhook(self, webhook: Webhook, position: int, pending: Sequence[PendingDelivery] = ()) -> bool:
        if not pending and self.holdings is None:
            if self._moves is None:
                self._moves = WebhookMoves(lambda work: self._write_driven((), work=work), move_webhooks)
            return await self._moves.add(webhook.id, position)
        return await self._deliver(webhook, move_webhook, webhook.id, position, pending)

    async def hold_webhook(self, webhook: Webhook, pending: Sequence[PendingDelivery] = ()) -> bool:
        return await self._deliver(webhook, hold_webhook, webhook, pending)

    async def save_pending(self, webhook: Webhook, pending: PendingDelivery) -> None:
        await self._deliver(webhook, save_pending, pending)

    async def remove_pending(self, webhook: Webhook, cursor: int) -> bool:
        return await self._deliver(webhook, remove_pending, webhook.id, cursor)

    async def _deliver(self, webhook: Webhook, work: Callable[[Transaction, *A], T], *args: *A) -> T:
        """Write the progress of a webhook. In a cluster, only the holder of the plant's shard may write this progress."""
        result: T = await self._write_driven((webhook.plant_id,), work=lambda tx: work(tx, *args))
        return result
