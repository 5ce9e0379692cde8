"""Ports for stored users, and the applications that act for them."""

from collections.abc import Callable, Sequence
from typing import Protocol

from domogate.domain.ids import Id
from domogate.domain.passkeys import Passkey, UsedChallenge
from domogate.domain.people import Client, ExternalAccount, User


class LastOperator(ValueError):
    """The change is refused, because the gateway would have no operator any more."""


class PeopleStore(Protocol):
    """Stores users."""

    async def find_user(self, user_id: Id) -> User | None: ...
    async def find_user_by_email(self, email: str) -> User | None: ...
    async def list_users(self) -> Sequence[User]: ...
    async def save_user(self, user: User) -> None:
        """Add or replace the whole user. This overwrites concurrent changes: use `change_user` to change single fields.

        If the user becomes active, invitations to the user's e-mail address become memberships. A changed e-mail address is
        unverified.
        """
        ...

    async def add_user(self, user: User) -> None:
        """Add the user. Raise ValueError if another user has this id or this e-mail address.

        If several callers add users with the same id or e-mail address at the same time, exactly one of them succeeds.
        """
        ...

    async def change_user(self, user_id: Id, change: Callable[[User], User]) -> User | None:
        """Replace the user by `change(user)`, atomically. Return None if the user does not exist.

        If `change` raises an exception, this method raises it too, and nothing is written. `change` runs on the store's thread
        and must not block. Raise LastOperator if the last operator would lose the role of operator. Raise ValueError if another
        user has the new e-mail address.
        """
        ...

    async def has_operator(self) -> bool:
        """Return whether there is an operator, with or without a password."""
        ...

    async def claim_operator(self, user: User) -> User | None:
        """Make this user, or the existing user with the same e-mail address, the first operator.

        Return None if an operator exists already. Exactly one of several concurrent callers succeeds.
        """
        ...

    async def expire_terms(self, version: str) -> int:
        """Set the standing of users who accepted another version than `version`, so that they must accept the terms again.

        Return the number of users whose standing has changed.
        """
        ...

    async def delete_user(self, user_id: Id) -> bool:
        """Delete the user. Return False if the user does not exist.

        Raise ValueError if the user owns plants, and LastOperator if the user is the last operator.
        """
        ...


class ExternalAccountStore(Protocol):
    """Stores the accounts that users have at other issuers."""

    async def find_external_user(self, issuer: str, subject: str) -> User | None: ...
    async def bind_external_account(self, issuer: str, subject: str, email: str, at: float) -> User | None:
        """Bind the account `subject` at the issuer to the active user with this e-mail address. Return this user.

        If the account is already bound to a user, change nothing and return that user. Return None if there is no active user
        with this e-mail address. Also return None if the user already has another account at this issuer.
        """
        ...

    async def list_external_accounts(self, user_id: Id) -> Sequence[ExternalAccount]: ...
    async def unbind_external_accounts(self, user_id: Id) -> int:
        """Unbind all accounts that the user has at other issuers. Return their number."""
        ...


class PasskeyStore(Protocol):
    """Stores passkeys. `SessionStore.add_session` stores the use of a passkey."""

    async def add_passkey(self, passkey: Passkey, challenge: UsedChallenge, session_id: Id) -> bool:
        """Add the passkey and return True. Return False if the user's session has ended or the challenge was used before.

        Also return False if the store has a passkey with this credential id, or if the user has MOST_PASSKEYS passkeys.
        """
        ...

    async def find_passkey(self, credential_id: str) -> Passkey | None: ...
    async def list_passkeys(self, user_id: Id) -> Sequence[Passkey]: ...
    async def rename_passkey(self, user_id: Id, passkey_id: Id, name: str) -> bool: ...
    async def remove_passkeys(self, user_id: Id, passkey_id: Id | None = None) -> int:
        """Remove one passkey of the user, or all of them if `passkey_id` is None. Return the number of removed passkeys."""
        ...


class ClientStore(Protocol):
    """Stores the registered applications (OAuth clients)."""

    async def find_client(self, client_id: str) -> Client | None: ...
    async def list_clients(self) -> Sequence[Client]: ...
    async def save_client(self, client: Client) -> None:
        """Add or replace the whole client. This overwrites concurrent changes."""
        ...

    async def add_client(self, client: Client) -> bool:
        """Add the client. Return False if the id exists. Exactly one of several concurrent callers succeeds."""
        ...

    async def change_client(self, client_id: str, change: Callable[[Client], Client]) -> Client | None:
        """Replace the client by `change(client)`, atomically. Return None if the client does not exist.

        `change` runs on the store's thread and must not block. If it raises an exception, this method raises it too, and
        nothing is written.
        """
        ...

    async def delete_client(self, client_id: str) -> bool:
        """Delete the client and all its grants. Return False if the client does not exist."""
        ...


class OperatorStore(Protocol):
    """Says whether the gateway has an operator who can log in."""

    async def has_active_operator(self) -> bool:
        """Return whether an operator has set a password."""
        ...
