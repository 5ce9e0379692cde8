"""Selects the scopes that a person is asked for (RFC 6749 §3.3)."""

from collections.abc import Iterable

from domogate.domain.people import KNOWN_SCOPES, MANAGE_SCOPE, Client, User


def split_scopes(text: str) -> tuple[str, ...]:
    """Return the scopes of the text in the same order, without duplicates."""
    return tuple(dict.fromkeys(text.split(" "))) if text.strip(" ") else ()


def choose_scopes(client: Client, asked: str | None) -> tuple[str, ...]:
    """Return the scopes that the client asks for and may have. If it asks for no scopes, return all its registered scopes.

    Unknown scopes are ignored, as RFC 6749 §3.3 allows and OpenID Connect Core §3.1.2.1 requires.
    """
    wanted = client.scopes if asked is None else split_scopes(asked)
    return client.limit_scopes(str(scope) for scope in wanted if scope in KNOWN_SCOPES)


def for_person(scopes: Iterable[str], user: User) -> tuple[str, ...]:
    """Return the scopes that this person can grant. Only an operator can grant the scope to manage the gateway."""
    return tuple(scope for scope in scopes if scope != MANAGE_SCOPE or user.operator)
