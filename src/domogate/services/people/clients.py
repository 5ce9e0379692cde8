"""The registered client applications: the rules for these applications, and their secrets, which are shown once."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.formats import NAME_LENGTH, is_name, is_origin, is_plain_http, is_redirect_uri
from domogate.domain.people import KNOWN_SCOPES, PAGES_CLIENT, Client, GrantType
from domogate.ports import ClientStore, DeveloperStore
from domogate.services.audit import AuditAction, client_ref
from domogate.services.people.actors import COMMAND_LINE, Actor, Note
from domogate.services.refusals import Conflict, Invalid, NotFound, Reason

_ID = re.compile(r"[!-~]{1,100}").fullmatch


class RegistrationStore(ClientStore, DeveloperStore, Protocol):
    """The parts of the store with clients and their owners."""


class Clients:
    """Adds, changes and deletes clients. `by` is the actor for the audit log."""

    def __init__(self, store: RegistrationStore, note: Note) -> None:
        self._store = store
        self._note = note

    async def get(self, client_id: str) -> Client:
        """Return the client. Raises NotFound if there is no client with this id."""
        _refuse_own(client_id)
        return _existing(client_id, await self._store.find_client(client_id))

    async def add(self, client: Client, *, confidential: bool, by: Actor = COMMAND_LINE) -> tuple[Client, str | None]:
        """Register a client.

        Return the client and its secret, which is not shown again. The secret of a public client is None. Raises Conflict if
        there is a client with this id already. Raises Invalid if the client breaks a rule of `check_client`.
        """
        if client.id == PAGES_CLIENT:
            raise Conflict(f"{PAGES_CLIENT} is the client of the gateway's own pages. Choose another id.")
        client, secret = _with_secret(client, confidential=confidential)
        if not await self._store.add_client(client):
            raise Conflict(f"There is a client {client.id} already.", Reason.CLIENT_EXISTS)
        self._note_added(client, by)
        return client, secret

    async def add_own(self, client: Client, *, confidential: bool, most: int, by: Actor) -> tuple[Client, str | None]:
        """Register a client that belongs to the actor. Return the client and its secret (None for a public client).

        `most` is the number of clients that the actor may have. Raises Conflict if the actor has this number already. Raises
        Invalid if the client breaks a rule of `check_client`.
        """
        assert by.user_id is not None, "the command line owns no clients"
        client, secret = _with_secret(client, confidential=confidential)
        if not await self._store.add_own_client(client, by.user_id, most):
            raise Conflict(
                f"You have {most} applications already, which is the limit. Delete one first.", Reason.TOO_MANY_APPLICATIONS
            )
        self._note_added(client, by)
        return client, secret

    def _note_added(self, client: Client, by: Actor) -> None:
        kind = "confidential" if client.confidential else "public"
        self._note(AuditAction.CLIENT_SAVED, by, client_ref(client.id), kind=kind)

    async def change(self, client_id: str, change: Callable[[Client], Client], *, by: Actor = COMMAND_LINE) -> Client:
        """Change a client. Existing grants stay.

        From the next request on, removed scopes are not valid any more, also in existing tokens. Raises NotFound if there is no
        client with this id. Raises Invalid if the changed client breaks a rule of `check_client`.
        """
        changed = await self._change(client_id, change)
        self._note(AuditAction.CLIENT_SAVED, by, client_ref(client_id))
        return changed

    async def rotate_secret(self, client_id: str, *, by: Actor = COMMAND_LINE) -> str:
        """Make and return a new secret. The old secret is refused from now on.

        Raises NotFound if there is no client with this id. Raises Conflict if the client is public.
        """
        secret = new_secret()

        def rotate(client: Client) -> Client:
            if not client.confidential:
                raise Conflict(
                    f"{client_id} is a public client: it has no secret. Delete it and register a confidential client instead."
                )
            return msgspec.structs.replace(client, secret_hash=hash_secret(secret))

        await self._change(client_id, rotate)
        self._note(AuditAction.CLIENT_SAVED, by, client_ref(client_id), secret="rotated")
        return secret

    async def delete(self, client_id: str, *, by: Actor = COMMAND_LINE) -> None:
        """Delete the client and its grants. The tokens of the client are refused from the next request on.

        Raises NotFound if there is no client with this id.
        """
        _refuse_own(client_id)
        if not await self._store.delete_client(client_id):
            raise NotFound(f"There is no client {client_id}.")
        self._note(AuditAction.CLIENT_DELETED, by, client_ref(client_id))

    async def _change(self, client_id: str, change: Callable[[Client], Client]) -> Client:
        _refuse_own(client_id)

        def checked(client: Client) -> Client:
            changed = change(client)
            check_client(changed)
            return changed

        return _existing(client_id, await self._store.change_client(client_id, checked))


def _with_secret(client: Client, *, confidential: bool) -> tuple[Client, str | None]:
    """Return the client with the hash of a new secret, and the secret. A public client has no secret.

    Raises Invalid if the client breaks a rule of `check_client`.
    """
    secret = new_secret() if confidential else None
    client = msgspec.structs.replace(client, secret_hash=None if secret is None else hash_secret(secret))
    check_client(client)
    return client, secret


def _refuse_own(client_id: str) -> None:
    if client_id == PAGES_CLIENT:
        raise NotFound(f"{PAGES_CLIENT} is the client of the gateway's own pages. Nobody can change or delete it.")


def _existing(client_id: str, client: Client | None) -> Client:
    if client is None:
        raise NotFound(f"There is no client {client_id}.")
    return client


def check_client(client: Client) -> None:
    """Check the rules for clients. Raises Invalid if a rule is broken. The message of this error lists every mistake."""
    if mistakes := list(dict.fromkeys(_find_mistakes(client))):
        raise Invalid(" ".join(mistakes))


def _find_mistakes(client: Client) -> Iterator[str]:
    if not _ID(client.id):
        yield "A client id has 1 to 100 ASCII letters, digits and punctuation characters, without spaces."
    if not is_name(client.name):
        yield f"A name has at most {NAME_LENGTH} characters, all on one line."
    elif not client.name.strip():
        yield "A client needs a name: people read it when they are asked to give it access."
    for uri in (*client.redirect_uris, *client.post_logout_redirect_uris):
        if not is_redirect_uri(uri):
            yield f"{uri!r} is not an absolute address without a fragment, such as https://app.example.com/callback."
        elif is_plain_http(uri):
            yield f"{uri!r} is not protected: use https, or http only to this machine (localhost)."
    for origin in client.origins:
        if not is_origin(origin):
            yield f"{origin!r} is not a web origin such as https://app.example.com."
    # The estate file allows no value twice, so the gateway could not import its own export.
    lists = (
        ("redirect URI", client.redirect_uris),
        ("post-logout redirect URI", client.post_logout_redirect_uris),
        ("origin", client.origins),
        ("grant", client.grants),
        ("scope", client.scopes),
    )
    for what, values in lists:
        yield from (f"The {what} {value} is given twice." for value, count in Counter(values).items() if count > 1)
    if unknown := [repr(scope) for scope in client.scopes if scope not in KNOWN_SCOPES]:
        yield f"There is no scope {', '.join(unknown)}; there are: {', '.join(KNOWN_SCOPES)}."
    # A client without grant types is allowed. It gets only tokens that an operator issues.
    by_browser = {GrantType.AUTHORIZATION_CODE, GrantType.IMPLICIT} & set(client.grants)
    if by_browser and not client.redirect_uris:
        yield f"A client with the grant {sorted(by_browser)[0]} needs a redirect URI."
    if client.pkce_exempt and not client.confidential:
        yield "Only a confidential client can be exempt from PKCE: without a secret, PKCE is the only protection of the code."
