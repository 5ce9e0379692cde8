"""Stores the registered applications (OAuth clients)."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, select

from domogate.domain.events import ClientChanged
from domogate.domain.people import PAGES_CLIENT, Client
from domogate.stores.codec import NUL, decode_grant_types, decode_texts, from_row, to_json, to_row
from domogate.stores.engine import Transaction, execute_many
from domogate.stores.grants import remove_grants
from domogate.stores.tables.identity import clients, grants

_CLIENT = select(clients).where(clients.c.id == bindparam("client_id"))
_LISTS = ("redirect_uris", "origins", "grants", "scopes", "post_logout_redirect_uris")


def client_to_row(client: Client) -> dict[str, Any]:
    return to_row(client, **{name: to_json(getattr(client, name)) for name in _LISTS})


def _from_row(row: Row[Any]) -> Client:
    lists = {name: decode_texts(getattr(row, name)) for name in _LISTS}
    return from_row(Client, row, **lists | {"grants": decode_grant_types(row.grants)})


def find_client(connection: Connection, client_id: str) -> Client | None:
    if NUL in client_id:
        return None
    row = connection.execute(_CLIENT, {"client_id": client_id}).first()
    return None if row is None else _from_row(row)


def list_clients(connection: Connection) -> Sequence[Client]:
    """Return all registered clients, ordered by id. The client of the gateway's own pages is left out."""
    registered = select(clients).where(clients.c.id != PAGES_CLIENT)
    return sorted(map(_from_row, connection.execute(registered)), key=lambda client: client.id)


def save_client(tx: Transaction, client: Client) -> None:
    tx.connection.execute(tx.upsert(clients), client_to_row(client))
    tx.emit(ClientChanged(client_id=client.id))


def add_client(tx: Transaction, client: Client) -> bool:
    if find_client(tx.connection, client.id) is not None:
        return False
    save_client(tx, client)
    return True


def change_client(tx: Transaction, client_id: str, change: Callable[[Client], Client]) -> Client | None:
    former = find_client(tx.connection, client_id)
    if former is None:
        return None
    changed = change(former)
    if changed.id != former.id:
        raise ValueError("the id of a client cannot be changed")
    if changed != former:
        save_client(tx, changed)
    return changed


def delete_client(tx: Transaction, client_id: str) -> bool:
    if find_client(tx.connection, client_id) is None:
        return False
    remove_clients(tx, [client_id])
    return True


def remove_clients(tx: Transaction, client_ids: Sequence[str]) -> None:
    remove_grants(tx, grants.c.client_id, client_ids)
    gone = [{"gone": client_id} for client_id in client_ids]
    execute_many(tx.connection, delete(clients).where(clients.c.id == bindparam("gone")), gone)
    for client_id in client_ids:
        tx.emit(ClientChanged(client_id=client_id))
