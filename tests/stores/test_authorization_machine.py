"""Codes, refresh tokens and revocations in any order, compared with a simple model."""

import asyncio
from collections import Counter
from collections.abc import Awaitable
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import func, select

from domogate.domain.authorization import AuthorizationCode, RefreshToken, RotationOutcome
from domogate.domain.events import GrantRevoked
from domogate.domain.ids import Id, new_id
from domogate.domain.people import Client, Grant, User
from domogate.stores import SqlStore
from domogate.stores.subject import reads
from domogate.stores.tables.identity import grants, refresh_tokens
from support.clocks import NOW, ManualClock
from support.examples import examples

T = TypeVar("T")

CODE_LIFE, TOKEN_LIFE, GRACE, REMEMBERED = 60.0, 500.0, 10.0, 3600.0
PARALLEL = st.sampled_from([1, 1, 1, 2, 4])
EITHER = st.integers(0, 1)


@dataclass
class ModelGrant:
    """A grant in the model."""

    user: Id
    client: str
    revoked: bool = False
    revoked_at: float = inf


@dataclass
class ModelCode:
    """A code in the model."""

    grant: Id
    expires: float
    used: bool = False


@dataclass
class ModelToken:
    """A refresh token in the model."""

    grant: Id
    expires: float
    replaced: float | None = None
    successor: str | None = None


class AuthorizationMachine(RuleBasedStateMachine):
    """Two stores on one database, like two processes. A step uses one of them, or both at the same time."""

    codes = Bundle("codes")
    families = Bundle("families")
    tokens = Bundle("tokens")

    def __init__(self, runner: asyncio.Runner, stores: list[SqlStore]) -> None:
        super().__init__()
        self._runner = runner
        self._stores = stores
        self._names = count()
        self._now = NOW
        self._grants: dict[Id, ModelGrant] = {}
        self._codes: dict[str, ModelCode] = {}
        self._tokens: dict[str, ModelToken] = {}
        self._made: Counter[Id] = Counter()
        self._users: list[Id] = []
        self._clients: list[str] = []
        self._since = 0

    def _do(self, awaitable: Awaitable[T]) -> T:
        async def run() -> T:
            return await awaitable

        return self._runner.run(run())

    def _all(self, awaitables: list[Awaitable[T]]) -> list[T]:
        async def run() -> list[T]:
            return await asyncio.gather(*awaitables)

        return self._runner.run(run())

    def _store(self) -> SqlStore:
        return self._stores[next(self._names) % len(self._stores)]

    def _revoke(self, grant_id: Id) -> None:
        grant = self._grants[grant_id]
        grant.revoked, grant.revoked_at = True, min(grant.revoked_at, self._now)

    @initialize()
    def people(self) -> None:
        """Every run uses its own people and applications in the same database."""
        for _ in range(2):
            user, client = User(new_id(), f"{new_id()}@example.com"), Client(new_id(), "An app")
            self._do(self._stores[0].save_user(user))
            self._do(self._stores[0].save_client(client))
            self._users.append(user.id)
            self._clients.append(client.id)
        self._since = self._do(self._stores[0].newest_cursor())

    @rule(seconds=st.sampled_from([0.5, 5.0, GRACE, GRACE + 1, CODE_LIFE, TOKEN_LIFE, REMEMBERED]))
    def time_passes(self, seconds: float) -> None:
        self._now += seconds

    @rule(target=codes, user=EITHER, client=EITHER)
    def authorize(self, user: int, client: int) -> str:
        grant = Grant(new_id(), self._users[user], self._clients[client], ("light.read",), created_at=self._now)
        code = AuthorizationCode(new_id(), grant.id, grant.client_id, self._now + CODE_LIFE)
        self._do(self._store().add_code(grant, code))
        self._grants[grant.id] = ModelGrant(grant.user_id, grant.client_id)
        self._codes[code.code_hash] = ModelCode(grant.id, code.expires_at)
        return code.code_hash

    @rule(target=families, code=codes, callers=PARALLEL)
    def redeem(self, code: str, callers: int) -> object:
        known = self._codes.get(code)
        redeemed = self._all([self._store().redeem_code(code, self._now) for _ in range(callers)])
        if known is None:
            assert redeemed == [None] * callers
            return multiple()
        firsts = sum(each is not None and each.first for each in redeemed)
        assert firsts == (0 if known.used else 1)
        if firsts < callers:
            self._revoke(known.grant)
        known.used = True
        for each in redeemed:
            assert each is not None
            assert (each.code.code_hash, each.code.expires_at, each.grant.id) == (code, known.expires, known.grant)
            assert each.first or each.grant.revoked_at is not None
        return known.grant if firsts else multiple()

    @rule(target=tokens, user=EITHER, client=EITHER)
    def grant_access(self, user: int, client: int) -> object:
        """Add and redeem a code in one step, so that most runs soon have refresh tokens."""
        grant = self.redeem(self.authorize(user, client), 1)
        return self.begin_family(Id(str(grant)))

    @rule(target=tokens, grant=families)
    def begin_family(self, grant: Id) -> object:
        model = self._grants.get(grant)
        if model is None:
            return multiple()
        token = RefreshToken(new_id(), grant, model.client, self._now, self._now + TOKEN_LIFE)
        self._do(self._store().add_refresh_token(token))
        self._tokens[token.token_hash] = ModelToken(grant, token.expires_at)
        self._made[grant] += 1
        return token.token_hash

    def _expected(self, token: str, client: str) -> RotationOutcome:
        known = self._tokens.get(token)
        if known is None or self._grants[known.grant].revoked or self._grants[known.grant].client != client:
            return RotationOutcome.UNKNOWN
        if known.replaced is not None and self._now - known.replaced <= GRACE:
            successor = self._tokens.get(known.successor or "")
            if successor is not None and successor.replaced is None:
                return RotationOutcome.REPEATED
        if known.expires <= self._now:
            return RotationOutcome.EXPIRED
        return RotationOutcome.ROTATED if known.replaced is None else RotationOutcome.REUSED

    @rule(target=tokens, token=tokens, callers=PARALLEL)
    def refresh(self, token: str, callers: int) -> object:
        known = self._tokens.get(token)
        grant = None if known is None else self._grants.get(known.grant)
        return self._rotate(token, self._clients[0] if grant is None else grant.client, callers)

    @rule(target=tokens, token=tokens)
    def refresh_and_again_later(self, token: str) -> object:
        """Repeat a rotation: before and after the grace period, the expiry and the next rotation."""
        known = self._tokens.get(token)
        if known is None:
            return multiple()
        made = self._rotate(token, self._grants[known.grant].client, 1)
        self._now += GRACE / 2
        self._rotate(token, self._grants[known.grant].client, 2)
        return made

    @rule(token=tokens, client=EITHER)
    def refresh_by_any_client(self, token: str, client: int) -> None:
        known = self._tokens.get(token)
        if known is None or self._grants[known.grant].client != self._clients[client]:
            assert self._rotate(token, self._clients[client], 1) == multiple()

    def _rotate(self, token: str, client_id: str, callers: int) -> object:
        known = self._tokens.get(token)
        grant_id = known.grant if known is not None else new_id()
        successors = [RefreshToken(new_id(), grant_id, client_id, self._now, self._now + TOKEN_LIFE) for _ in range(callers)]
        told = self._all([self._store().rotate_refresh_token(token, client_id, each, self._now, GRACE) for each in successors])
        outcomes = Counter(rotation.outcome for rotation in told)
        expected: Counter[RotationOutcome] = Counter()
        for _ in range(callers):
            outcome = self._expected(token, client_id)
            expected[outcome] += 1
            if outcome is RotationOutcome.ROTATED:
                assert known is not None
                known.replaced = self._now
                ours = [each for each, how in zip(successors, told, strict=True) if how.outcome is RotationOutcome.ROTATED]
                assert len(ours) == 1
                known.successor = ours[0].token_hash
                self._tokens[known.successor] = ModelToken(known.grant, ours[0].expires_at)
                self._made[known.grant] += 1
            elif outcome is RotationOutcome.REUSED:
                assert known is not None
                self._revoke(known.grant)
        assert outcomes == expected
        for rotation in told:
            has_no_grant = rotation.outcome in (RotationOutcome.UNKNOWN, RotationOutcome.EXPIRED)
            assert (rotation.grant is None) is has_no_grant
        rotated = outcomes[RotationOutcome.ROTATED]
        return known.successor if rotated and known is not None else multiple()

    @rule(grant=families)
    def revoke(self, grant: Id) -> None:
        valid = grant in self._grants and not self._grants[grant].revoked
        assert self._do(self._store().revoke_grant(grant, self._now)) is valid
        if valid:
            self._revoke(grant)

    @precondition(lambda self: len(self._grants) > 3)
    @rule(user=EITHER, client=st.none() | EITHER)
    def revoke_all(self, user: int, client: int | None) -> None:
        client_id = None if client is None else self._clients[client]
        concerned = [
            grant_id
            for grant_id, grant in self._grants.items()
            if grant.user == self._users[user] and client_id in (None, grant.client) and not grant.revoked
        ]
        assert self._do(self._store().revoke_grants(self._users[user], client_id, self._now)) == len(concerned)
        for grant_id in concerned:
            self._revoke(grant_id)

    @rule()
    def forget(self) -> None:
        self._do(self._store().prune_authorization(self._now))
        for code in self._codes.values():
            if code.expires + REMEMBERED <= self._now and not code.used:
                del self._grants[code.grant]
        self._codes = {name: code for name, code in self._codes.items() if code.expires + REMEMBERED > self._now}
        kept = {name: token for name, token in self._tokens.items() if token.expires + REMEMBERED > self._now}
        for name in self._tokens.keys() - kept.keys():
            self._made[self._tokens[name].grant] -= 1
        self._tokens = kept
        self._drop({grant_id for grant_id, grant in self._grants.items() if grant.revoked_at + REMEMBERED <= self._now})

    @precondition(lambda self: len(self._grants) > 3)
    @rule(user=EITHER)
    def delete_and_come_back(self, user: int) -> None:
        user_id = self._users[user]
        person = self._do(self._stores[0].find_user(user_id))
        assert person is not None
        self._do(self._store().delete_user(user_id))
        self._do(self._store().save_user(person))
        self._drop({grant_id for grant_id, grant in self._grants.items() if grant.user == user_id})

    def _drop(self, gone: set[Id]) -> None:
        self._grants = {grant_id: grant for grant_id, grant in self._grants.items() if grant_id not in gone}
        self._codes = {name: code for name, code in self._codes.items() if code.grant not in gone}
        self._tokens = {name: token for name, token in self._tokens.items() if token.grant not in gone}
        for grant_id in gone:
            del self._made[grant_id]

    @invariant()
    def the_living_grants_are_the_model_s(self) -> None:
        unredeemed = {code.grant for code in self._codes.values() if not code.used}
        for user_id in self._users:
            living = {
                grant_id
                for grant_id, grant in self._grants.items()
                if grant.user == user_id and not grant.revoked and grant_id not in unredeemed
            }
            assert {grant.id for grant in self._do(self._store().list_grants(user_id))} == living

    @invariant()
    def no_family_has_more_tokens_than_were_made(self) -> None:
        by_grant = (
            select(refresh_tokens.c.grant_id, func.count().label("tokens"))
            .join(grants)
            .where(grants.c.user_id.in_(self._users))
            .group_by(refresh_tokens.c.grant_id)
        )
        found = self._do(reads(lambda connection: connection.execute(by_grant).all())(self._stores[0]))
        assert {row.grant_id: row.tokens for row in found} == {of: made for of, made in self._made.items() if made}

    def teardown(self) -> None:
        changes = self._do(self._stores[0].list_changes(self._since, 10_000))
        told = Counter(change.event.grant_id for change in changes if isinstance(change.event, GrantRevoked))
        for grant_id, grant in self._grants.items():
            assert told[grant_id] == (1 if grant.revoked else 0)
        for client_id in self._clients:
            self._do(self._stores[0].delete_client(client_id))
        for user_id in self._users:
            self._do(self._stores[0].delete_user(user_id))


@pytest.mark.slow
def test_codes_refresh_families_and_revocation_in_any_order(database_url: str) -> None:
    with asyncio.Runner() as runner:
        stores = [SqlStore(database_url, clock=ManualClock(), poll=0.5) for _ in range(2)]
        try:
            for store in stores:
                runner.run(store.start())

            class Machine(AuthorizationMachine):
                def __init__(self) -> None:
                    super().__init__(runner, stores)

            run_state_machine_as_test(
                Machine,
                settings=settings(
                    max_examples=examples(3), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
                ),
            )
        finally:
            for store in stores:
                runner.run(store.stop())
