"""The part of the store about people and the applications they let in: a thin front of the modules that it names."""

from collections.abc import Callable, Sequence

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
from domogate.stores import attempts, authorization, grants, people, sessions
from domogate.stores.lifecycle import StoreLifecycle


class IdentityRows(StoreLifecycle):
    """People, applications, grants, and what either proves itself by."""

    # people

    async def find_user(self, user_id: Id) -> User | None:
        return await self._read(people.find_user, user_id)

    async def find_user_by_email(self, email: str) -> User | None:
        return await self._read(people.find_user_by_email, email)

    async def list_users(self) -> Sequence[User]:
        return await self._read(people.list_users)

    async def save_user(self, user: User) -> None:
        await self._write(people.save_user, user)

    async def add_user(self, user: User) -> None:
        await self._write(people.add_user, user)

    async def change_user(self, user_id: Id, change: Callable[[User], User]) -> User | None:
        return await self._write(people.change_user, user_id, change)

    async def claim_operator(self, user: User) -> User | None:
        return await self._write(people.claim_operator, user)

    async def delete_user(self, user_id: Id) -> bool:
        return await self._write(people.delete_user, user_id)

    # applications

    async def find_client(self, client_id: str) -> Client | None:
        return await self._read(people.find_client, client_id)

    async def list_clients(self) -> Sequence[Client]:
        return await self._read(people.list_clients)

    async def save_client(self, client: Client) -> None:
        await self._write(people.save_client, client)

    async def add_client(self, client: Client) -> bool:
        return await self._write(people.add_client, client)

    async def change_client(self, client_id: str, change: Callable[[Client], Client]) -> Client | None:
        return await self._write(people.change_client, client_id, change)

    async def delete_client(self, client_id: str) -> bool:
        return await self._write(people.delete_client, client_id)

    # what people granted to applications

    async def add_grant(self, grant: Grant) -> None:
        await self._write(grants.add_grant, grant)

    async def find_grant(self, grant_id: Id) -> Grant | None:
        return await self._read(grants.find_grant, grant_id)

    async def revoke_grant(self, grant_id: Id, at: float) -> bool:
        return await self._write(grants.revoke_grant, grant_id, at)

    async def list_grants(self, user_id: Id) -> Sequence[Grant]:
        return await self._read(grants.list_grants, user_id)

    async def revoke_grants(self, user_id: Id, client_id: str | None, at: float) -> int:
        return await self._write(grants.revoke_grants, user_id, client_id, at)

    # proving who one is

    async def admit_attempt(self, attempt: Attempt, at: float) -> float:
        return await self._write(attempts.admit, attempt, at)

    async def take_back_attempt(self, attempt: Attempt, at: float) -> None:
        await self._write(attempts.take_back, attempt, at)

    async def succeed_attempt(self, attempt: Attempt, at: float) -> None:
        await self._write(attempts.succeed, attempt, at)

    async def use_totp_step(self, user_id: Id, step: int) -> bool:
        return await self._write(sessions.use_totp_step, user_id, step)

    # letting applications in

    async def add_session(
        self,
        session: Session,
        *,
        totp_step: int | None = None,
        succeeded: Attempt | None = None,
        taken_back: Attempt | None = None,
    ) -> bool:
        return await self._write(sessions.add_session, session, totp_step, succeeded, taken_back)

    async def find_session(self, token_hash: str) -> Session | None:
        return await self._read(sessions.find_session, token_hash)

    async def save_session(self, session: Session) -> None:
        await self._write(sessions.save_session, session)

    async def end_session(self, session_id: Id) -> bool:
        return await self._write(sessions.end_session, session_id)

    async def end_sessions(self, user_id: Id, keep: Id | None = None) -> int:
        return await self._write(sessions.end_sessions, user_id, keep)

    async def list_sessions(self, user_id: Id) -> Sequence[Session]:
        return await self._read(sessions.list_sessions, user_id)

    async def add_code(self, grant: Grant, code: AuthorizationCode) -> None:
        await self._write(authorization.add_code, grant, code)

    async def redeem_code(self, code_hash: str, at: float) -> RedeemedCode | None:
        return await self._write(authorization.redeem_code, code_hash, at)

    async def add_refresh_token(self, token: RefreshToken) -> None:
        await self._write(authorization.add_refresh_token, token)

    async def rotate_refresh_token(
        self, token_hash: str, client_id: str, successor: RefreshToken, at: float, grace: float
    ) -> Rotation:
        return await self._write(authorization.rotate_refresh_token, token_hash, client_id, successor, at, grace)

    async def find_refresh_token(self, token_hash: str) -> RefreshToken | None:
        return await self._read(authorization.find_refresh_token, token_hash)

    async def add_link(self, link: OneTimeLink) -> None:
        await self._write(authorization.add_link, link)

    async def find_link(self, token_hash: str) -> OneTimeLink | None:
        return await self._read(authorization.find_link, token_hash)

    async def take_link(self, token_hash: str) -> OneTimeLink | None:
        return await self._write(authorization.take_link, token_hash)

    async def prune_authorization(self, at: float) -> None:
        """In pieces, so that other writes get their turn in between."""
        while await self._write(authorization.prune_unredeemed, at):
            pass
        while await self._write(attempts.prune_surplus, attempts.MOST_KEPT):
            pass
        for table in authorization.EXPIRING:
            while await self._write(authorization.prune_expired, table, at):
                pass
