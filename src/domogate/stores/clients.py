"""Applications (OAuth clients)."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, select

from domogate.domain.events import ClientChanged
from domogate.domain.people import Client
from domogate.stores.codec import NUL, decode_grant_types, decode_texts, to_json
from domogate.stores.engine import Transaction, execute_many
from domogate.stores.grants import remove_grants
from domogate.stores.subject import SqlSubject, reads, writes
from domogate.stores.tables import clients, grants

_CLIENT = select(clients).where(clients.c.id == bindparam("client_id"))


def client_to_row(client: Client) -> tuple[Any, ...]:
    """Return the values in the order of the columns of `tables.clients`."""
    return (
        client.id,
        client.name,
        client.secret_hash,
        to_json(client.redirect_uris),
        to_json(client.origins),
        to_json(client.grants),
        to_json(client.scopes),
        client.access_token_everywhere,
        client.pkce_exempt,
        to_json(client.post_logout_redirect_uris),
    )


def client_from_row(row: Row[Any]) -> Client:
    return Client(
        id=row.id,
        name=row.name,
        secret_hash=row.secret_hash,
        redirect_uris=decode_texts(row.redirect_uris),
        origins=decode_texts(row.origins),
        grants=decode_grant_types(row.grants),
        scopes=decode_texts(row.scopes),
        access_token_everywhere=row.access_token_everywhere,
        pkce_exempt=row.pkce_exempt,
        post_logout_redirect_uris=decode_texts(row.post_logout_redirect_uris),
    )


def find_client(connection: Connection, client_id: str) -> Client | None:
    if NUL in client_id:
        return None
    row = connection.execute(_CLIENT, {"client_id": client_id}).first()
    return None if row is None else client_from_row(row)


def list_clients(connection: Connection) -> Sequence[Client]:
    """Return all clients, ordered by id."""
    return sorted(map(client_from_row, connection.execute(select(clients))), key=lambda client: client.id)


def save_client(tx: Transaction, client: Client) -> None:
    tx.connection.execute(tx.upsert(clients), dict(zip(clients.columns.keys(), client_to_row(client), strict=True)))
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


class SqlClients(SqlSubject):
    """ClientStore."""

    find_client = reads(find_client)
    list_clients = reads(list_clients)
    save_client = writes(save_client)
    add_client = writes(add_client)
    change_client = writes(change_client)
    delete_client = writes(delete_client)
