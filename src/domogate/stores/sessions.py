"""Stores login sessions, used codes of second factors, and one-time links.

The caller checks whether a session or link has expired.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, insert, select, update

from domogate.domain.attempts import Attempt
from domogate.domain.authorization import SETS_PASSWORD, LinkPurpose, OneTimeLink, Session
from domogate.domain.ids import Id
from domogate.domain.passkeys import PasskeyUse
from domogate.stores import attempts
from domogate.stores.codec import decode_texts, from_row, to_json, to_row
from domogate.stores.direct import DirectStatement
from domogate.stores.engine import Transaction
from domogate.stores.grants import has_user, require_user, revoke_pages
from domogate.stores.passkeys import use_passkey
from domogate.stores.recovery_codes import use_recovery_code
from domogate.stores.tables.identity import links, sessions, totp_steps

_BY_TOKEN = select(sessions).where(sessions.c.token_hash == bindparam("token_hash"))
_OF_USER = (
    select(sessions)
    .where(sessions.c.user_id == bindparam("user_id"))
    .order_by(sessions.c.seen_at.desc(), sessions.c.created_at.desc(), sessions.c.id)
)
_INSERT = DirectStatement(insert(sessions))
_LINK = select(links).where(links.c.token_hash == bindparam("token_hash"))
_TAKE_LINK = delete(links).where(links.c.token_hash == bindparam("token_hash")).returning(*links.c)


def _to_row(session: Session) -> dict[str, Any]:
    return to_row(session, factors=to_json(session.factors))


def _from_row(row: Row[Any]) -> Session:
    return from_row(Session, row, factors=decode_texts(row.factors))


def add_session(
    tx: Transaction,
    session: Session,
    *,
    totp_step: int | None = None,
    recovery_code: str | None = None,
    passkey: PasskeyUse | None = None,
    succeeded: Sequence[Attempt] = (),
    taken_back: Attempt | None = None,
) -> bool:
    if not has_user(tx, session.user_id):
        return False
    if totp_step is not None and not use_totp_step(tx, session.user_id, totp_step):
        return False
    if recovery_code is not None and not use_recovery_code(tx, session.user_id, recovery_code):
        return False
    if passkey is not None and not use_passkey(tx, passkey, session.created_at):
        return False
    _INSERT.execute(tx.connection, _to_row(session))
    if succeeded:
        attempts.succeed_all(tx, succeeded, session.created_at)
    if taken_back is not None:
        attempts.take_back(tx, taken_back, session.created_at)
    return True


def use_totp_step(tx: Transaction, user_id: Id, step: int) -> bool:
    if not has_user(tx, user_id):
        return False
    using = tx.database.insert(totp_steps)
    later = using.on_conflict_do_update(
        index_elements=["user_id"], set_={"step": using.excluded.step}, where=totp_steps.c.step < using.excluded.step
    )
    row = {"user_id": user_id, "step": step}
    return tx.connection.execute(later.returning(totp_steps.c.user_id), row).first() is not None


def find_session(connection: Connection, token_hash: str) -> Session | None:
    row = connection.execute(_BY_TOKEN, {"token_hash": token_hash}).first()
    return None if row is None else _from_row(row)


def save_session(tx: Transaction, session: Session) -> None:
    """Replace the stored session that has the same id. If it was deleted in the meantime, nothing is written."""
    tx.connection.execute(update(sessions).where(sessions.c.id == session.id).values(_to_row(session)))


def end_session(tx: Transaction, session_id: Id) -> bool:
    return bool(_end(tx, sessions.c.id == session_id))


def end_sessions(tx: Transaction, user_id: Id, keep: Id | None = None) -> int:
    condition = sessions.c.user_id == user_id
    return _end(tx, condition if keep is None else condition & (sessions.c.id != keep))


def _end(tx: Transaction, condition: ColumnElement[bool]) -> int:
    """Delete the sessions for which the condition holds, and return their number.

    Also revoke the grants that the gateway's own pages got in these sessions (Decision 0076).
    """
    ended = tx.connection.execute(delete(sessions).where(condition).returning(sessions.c.user_id, sessions.c.auth_time)).all()
    for user_id, auth_time in ended:
        revoke_pages(tx, user_id, auth_time)
    return len(ended)


def list_sessions(connection: Connection, user_id: Id) -> Sequence[Session]:
    """Return the sessions of the user. The most recently used session is first."""
    return [_from_row(row) for row in connection.execute(_OF_USER, {"user_id": user_id})]


def add_link(tx: Transaction, link: OneTimeLink) -> None:
    require_user(tx, link.user_id)
    replaced = [one.value for one in (SETS_PASSWORD if link.purpose in SETS_PASSWORD else (link.purpose,))]
    tx.connection.execute(delete(links).where(links.c.user_id == link.user_id, links.c.purpose.in_(replaced)))
    tx.connection.execute(insert(links), to_row(link, purpose=link.purpose.value))


def find_link(connection: Connection, token_hash: str) -> OneTimeLink | None:
    row = connection.execute(_LINK, {"token_hash": token_hash}).first()
    return None if row is None else _link_from_row(row)


def take_link(tx: Transaction, token_hash: str) -> OneTimeLink | None:
    """Delete and return the link, even if it has expired."""
    row = tx.connection.execute(_TAKE_LINK, {"token_hash": token_hash}).first()
    return None if row is None else _link_from_row(row)


def _link_from_row(row: Row[Any]) -> OneTimeLink:
    return from_row(OneTimeLink, row, purpose=LinkPurpose(row.purpose))
