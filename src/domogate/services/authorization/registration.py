"""Registered applications: what they may ask for, and the secret that is shown once."""

import re
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.formats import is_origin, is_redirect_uri
from domogate.domain.people import KNOWN_SCOPES, Client, GrantType
from domogate.ports import ClientStore
from domogate.services.audit.log import AuditAction, client_ref
from domogate.services.people.accounts import COMMAND_LINE, By
from domogate.services.people.rules import check_name
from domogate.services.refusals import Conflict, Invalid, NotFound

_ID = re.compile(r"[!-~]{1,100}").fullmatch


class Note(Protocol):
    """Puts it into the audit log."""

    def __call__(self, action: AuditAction, by: By, what: str, **detail: str) -> None: ...


class Clients:
    """The register of applications. `by` is who does it."""

    def __init__(self, store: ClientStore, note: Note) -> None:
        self._store = store
        self._note = note

    async def get(self, client_id: str) -> Client:
        """Raises NotFound."""
        return _there(client_id, await self._store.find_client(client_id))

    async def add(self, client: Client, *, confidential: bool, by: By = COMMAND_LINE) -> tuple[Client, str | None]:
        """The client as it is kept and, if it can keep one, its secret: this is the one time that it is seen."""
        secret = new_secret() if confidential else None
        client = msgspec.structs.replace(client, secret_hash=None if secret is None else hash_secret(secret))
        check_client(client)
        if not await self._store.add_client(client):
            raise Conflict(f"There is a client {client.id} already.")
        self._note(AuditAction.CLIENT_SAVED, by, client_ref(client.id), kind="confidential" if confidential else "public")
        return client, secret

    async def change(self, client_id: str, change: Callable[[Client], Client], *, by: By = COMMAND_LINE) -> Client:
        """What it was already granted stays granted; what it may no longer ask for is refused when it asks again."""
        changed = await self._change(client_id, change)
        self._note(AuditAction.CLIENT_SAVED, by, client_ref(client_id))
        return changed

    async def rotate_secret(self, client_id: str, *, by: By = COMMAND_LINE) -> str:
        """The old one is refused from now on."""
        secret = new_secret()

        def rotate(client: Client) -> Client:
            if not client.confidential:
                raise Conflict(f"{client_id} is a public client: it has no secret. Register it anew if it can keep one.")
            return msgspec.structs.replace(client, secret_hash=hash_secret(secret))

        await self._change(client_id, rotate)
        self._note(AuditAction.CLIENT_SAVED, by, client_ref(client_id), secret="rotated")
        return secret

    async def delete(self, client_id: str, *, by: By = COMMAND_LINE) -> None:
        """With everything that people granted to it: its tokens are refused from the next request on."""
        if not await self._store.delete_client(client_id):
            raise NotFound(f"There is no client {client_id}.")
        self._note(AuditAction.CLIENT_DELETED, by, client_ref(client_id))

    async def _change(self, client_id: str, change: Callable[[Client], Client]) -> Client:
        def checked(client: Client) -> Client:
            changed = change(client)
            check_client(changed)
            return changed

        return _there(client_id, await self._store.change_client(client_id, checked))


def _there(client_id: str, client: Client | None) -> Client:
    if client is None:
        raise NotFound(f"There is no client {client_id}.")
    return client


def check_client(client: Client) -> None:
    """Raises Invalid with the first thing that is wrong."""
    if not _ID(client.id):
        raise Invalid("A client id has 1 to 100 ASCII letters, digits and signs, without spaces.")
    if not check_name(client.name).strip():
        raise Invalid("A client needs a name: people read it when they are asked to let it in.")
    for uri in (*client.redirect_uris, *client.post_logout_redirect_uris):
        if not is_redirect_uri(uri):
            raise Invalid(f"{uri!r} is not an absolute address without a fragment, such as https://app.example.com/callback.")
    for origin in client.origins:
        if not is_origin(origin):
            raise Invalid(f"{origin!r} is not a web origin such as https://app.example.com.")
    _check_once("redirect URI", client.redirect_uris)
    _check_once("scope", client.scopes)
    if unknown := [scope for scope in client.scopes if scope not in KNOWN_SCOPES]:
        raise Invalid(f"There is no scope {unknown[0]!r}; there are: {', '.join(KNOWN_SCOPES)}.")
    # A client without grants is for tokens that an operator issues.
    by_browser = {GrantType.AUTHORIZATION_CODE, GrantType.IMPLICIT} & set(client.grants)
    if by_browser and not client.redirect_uris:
        raise Invalid(f"A client with the grant {sorted(by_browser)[0]} needs a redirect URI to come back to.")
    if client.pkce_exempt and not client.confidential:
        raise Invalid("Only a confidential client can be exempt from PKCE: without a secret, it is all that protects the code.")


def _check_once(what: str, values: Sequence[str]) -> None:
    for value in values:
        if values.count(value) > 1:
            raise Invalid(f"The {what} {value} is there twice.")
