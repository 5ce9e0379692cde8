"""What is kept of people, of the applications that they let in, and of how either proves who it is."""

from collections.abc import Callable, Sequence
from typing import Protocol

from domogate.domain.attempts import Attempt
from domogate.domain.authorization import (
    AuthorizationCode,
    OneTimeLink,
    RedeemedCode,
    RefreshToken,
    Rotation,
    Session,
)
from domogate.domain.ids import Id
from domogate.domain.people import Client, Grant, User


class IdentityStore(Protocol):
    """People, applications and grants. Whatever may be used once is consumed by one call, the same for all processes."""

    # people
    async def find_user(self, user_id: Id) -> User | None: ...
    async def find_user_by_email(self, email: str) -> User | None: ...
    async def list_users(self) -> Sequence[User]: ...
    async def save_user(self, user: User) -> None:
        """Add or replace as a whole, whatever others changed meanwhile: to change one fact there is `change_user`.

        A user who becomes active takes up the invitations to their e-mail. Who gets another e-mail has to prove that one anew.
        """
        ...

    async def add_user(self, user: User) -> None:
        """ValueError when another has that id or e-mail: of many at once exactly one comes first."""
        ...

    async def change_user(self, user_id: Id, change: Callable[[User], User]) -> User | None:
        """What `change` makes of the user as they are at that moment: changes by others are neither lost nor undone.

        Whatever it raises is raised here, and nothing is changed. It runs on the store's own thread, so it must only compute.
        The last operator stays one: ValueError. None: there is no such user.
        """
        ...

    async def claim_operator(self, user: User) -> User | None:
        """Make this user, or the one who has their e-mail already, the first operator: of many at once exactly one is.

        None: there is an operator.
        """
        ...

    async def delete_user(self, user_id: Id) -> bool:
        """ValueError for who owns plants, and for the last operator."""
        ...

    # applications
    async def find_client(self, client_id: str) -> Client | None: ...
    async def list_clients(self) -> Sequence[Client]: ...
    async def save_client(self, client: Client) -> None:
        """Add or replace as a whole, whatever others changed meanwhile."""
        ...

    async def add_client(self, client: Client) -> bool:
        """False when there is one with that id: of many at once exactly one comes first."""
        ...

    async def change_client(self, client_id: str, change: Callable[[Client], Client]) -> Client | None:
        """As `change_user`. None: there is no such client."""
        ...

    async def delete_client(self, client_id: str) -> bool:
        """With all that was granted to it."""
        ...

    # what people granted to applications
    async def add_grant(self, grant: Grant) -> None: ...
    async def find_grant(self, grant_id: Id) -> Grant | None: ...
    async def revoke_grant(self, grant_id: Id, at: float) -> bool: ...
    async def list_grants(self, user_id: Id) -> Sequence[Grant]:
        """Those that are not revoked and whose code, if there was one, was redeemed; the newest first."""
        ...

    async def revoke_grants(self, user_id: Id, client_id: str | None, at: float) -> int:
        """Revoke all the user's grants to the client (None: to any); how many there were."""
        ...

    # proving who one is, the same for all processes
    async def admit_attempt(self, attempt: Attempt, at: float) -> float:
        """0: it is counted as failed until it is told to have succeeded. Otherwise the seconds to wait; nothing is counted."""
        ...

    async def take_back_attempt(self, attempt: Attempt, at: float) -> None:
        """An admitted attempt was no guess, but proves nothing yet either: a first factor that was right."""
        ...

    async def succeed_attempt(self, attempt: Attempt, at: float) -> None: ...
    async def use_totp_step(self, user_id: Id, step: int) -> bool:
        """False when this step or a later one was used before: of many at once exactly one uses it."""
        ...

    # letting applications in
    async def add_session(
        self,
        session: Session,
        *,
        totp_step: int | None = None,
        succeeded: Attempt | None = None,
        taken_back: Attempt | None = None,
    ) -> bool:
        """With what goes along with it, in one write. False, and nothing is done, when `totp_step` was used before."""
        ...

    async def find_session(self, token_hash: str) -> Session | None: ...
    async def save_session(self, session: Session) -> None:
        """Replace what is kept of it: seen again, proved again."""
        ...

    async def end_session(self, session_id: Id) -> bool: ...
    async def end_sessions(self, user_id: Id, keep: Id | None = None) -> int: ...
    async def list_sessions(self, user_id: Id) -> Sequence[Session]: ...
    async def add_code(self, grant: Grant, code: AuthorizationCode) -> None:
        """The grant and the code it is redeemed by, together."""
        ...

    async def redeem_code(self, code_hash: str, at: float) -> RedeemedCode | None:
        """Consume it: of many at once exactly one is first. None when there is no such code."""
        ...

    async def add_refresh_token(self, token: RefreshToken) -> None: ...
    async def rotate_refresh_token(
        self, token_hash: str, client_id: str, successor: RefreshToken, at: float, grace: float
    ) -> Rotation:
        """Replace it by `successor`; of many at once exactly one rotates, the others within `grace` repeat."""
        ...

    async def find_refresh_token(self, token_hash: str) -> RefreshToken | None: ...
    async def add_link(self, link: OneTimeLink) -> None:
        """Links of the same purpose to the same user that were made before are of no use any more."""
        ...

    async def find_link(self, token_hash: str) -> OneTimeLink | None: ...
    async def take_link(self, token_hash: str) -> OneTimeLink | None:
        """Consume it: of many at once exactly one gets it."""
        ...

    async def prune_authorization(self, at: float) -> None:
        """Forget what has expired: sessions, codes, refresh tokens, links, counted attempts, grants never redeemed."""
        ...
