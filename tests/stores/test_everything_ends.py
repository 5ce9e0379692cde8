"""Every table that grows by use is pruned: the test fills it, moves the clock, and the pruning leaves no row."""

from typing import Any

import msgspec
import pytest
from sqlalchemy import func, select

from domogate.domain.attempts import Attempt, Limit
from domogate.domain.authorization import LinkPurpose, OneTimeLink
from domogate.domain.commands import Order, SetLight
from domogate.domain.events import Change, StateChanged
from domogate.domain.invitation_links import InvitationLink
from domogate.domain.people import GrantType
from domogate.domain.states import LightState, PlugState, Reading, Report, Unit
from domogate.domain.webhooks import PendingDelivery
from domogate.ports import Usage
from domogate.services.plants.history import History
from domogate.stores import SqlStore
from domogate.stores.subject import reads
from domogate.stores.tables.all_tables import metadata
from support.clocks import NOW, ManualClock
from support.stores import (
    ANNA,
    APP,
    CARLA,
    HOUSE,
    KEY,
    LAMP,
    PLUG,
    a_code,
    a_grant,
    a_refresh_token,
    a_session,
    a_webhook,
    an_id,
)

DAY = 86_400.0
TOKEN_LIFETIME = 2 * 3600.0
LATER = NOW + 400 * DAY

KEPT = {
    # set up by people and operators, until they remove it
    *("users", "clients", "subscriptions", "plants", "members", "invitations", "floors", "ambients", "modules", "states"),
    *("spare_parts", "series", "injections"),
    # one row for each application and key of a developer, removed with it or with the developer
    *("owned_clients", "owned_subscriptions"),
    # one row for each person and plant, removed with either
    "favourites",
    # one row for each user, removed with the user
    *("pseudonyms", "totp_steps"),
    # ten rows of each for a user, and one for each user and issuer, removed with the second factor or the user
    *("recovery_codes", "passkeys", "external_accounts"),
    # one row
    *("secret_key", "clock", "address", "feed"),
    # as long as the law or the operator says
    *("audit", "logbook"),
    # one row for each rotation: the successor of a refresh token is derived from the oldest one
    "signing_keys",
    # the last 500 imports, with the documents of the last 20
    "estate_imports",
    # removed by other running gateways
    *("gateways", "leases"),
    # a fixed number of rows
    "shards",
    # one row for each driver
    "driver_connections",
}
"""Tables that are not pruned by time, and why."""
ENDING = set(metadata.tables) - KEPT - {"alembic_version"}


async def count(store: SqlStore) -> dict[str, int]:
    def rows(connection: Any) -> dict[str, int]:
        tables = (metadata.tables[name] for name in sorted(ENDING))
        return {table.name: connection.execute(select(func.count()).select_from(table)).scalar_one() for table in tables}

    return await reads(rows)(store)


async def fill(store: SqlStore) -> None:
    implicit = {"flow": GrantType.IMPLICIT, "auth_time": NOW}
    for number in (50, 51):  # a code that is never redeemed, and one that is
        await store.add_code(a_grant(number), a_code(a_grant(number), name=f"code {number}"))
    await store.redeem_code("hash of code 51", NOW)
    await store.revoke_grant(an_id(51), NOW + 5)
    for number in (60, 61, 62):  # an application renews its tokens without a refresh token
        await store.add_grant(msgspec.structs.replace(a_grant(number), created_at=NOW + number, **implicit))
    await store.revoke_grant(an_id(62), NOW + 90)
    await store.add_grant(msgspec.structs.replace(a_grant(63), auth_time=NOW))
    await store.add_refresh_token(a_refresh_token(a_grant(63), "left alone"))
    await store.revoke_grant(an_id(63), NOW + 99)
    await store.add_session(a_session(70))
    await store.add_link(OneTimeLink("link", CARLA.id, LinkPurpose.PASSWORD, NOW + 60))
    invitation = InvitationLink(an_id(80), "invitation", HOUSE.id, ANNA.id, "Emil", NOW, NOW + 60)
    assert await store.add_invitation_link(invitation, 20)
    limit = Limit(5, 1.0, 900.0, 900.0)
    await store.admit_attempt(Attempt("account", "address", "familiar", limit, limit, 90 * DAY), NOW)
    await store.use_ticket("ticket", NOW + 60)
    await store.add_usage([Usage(KEY.id, "2027-01-15", 5)])
    orders = [Order(name, HOUSE.id, LAMP.id, SetLight(on=True), deadline=NOW + 5) for name in ("forgotten", "done")]
    await store.add_orders(orders, NOW, sent=True)
    readings = (("power", Reading(3.0, Unit.WATT, NOW)),)
    await store.record([Report(HOUSE.id, PLUG.id, NOW, PlugState(on=True), readings=readings)])
    await store.record([Report(HOUSE.id, LAMP.id, NOW, LightState(on=True))])
    webhook = a_webhook()
    await store.add_webhook(webhook)
    event = StateChanged(plant_id=HOUSE.id, module_id=LAMP.id, state=LightState(on=True), reachable=True, at=NOW)
    change = Change(1, NOW, event)
    dead = PendingDelivery(
        webhook_id=webhook.id,
        change=change,
        module_id=LAMP.id,
        attempts=9,
        next_at=NOW,
        problem="It answered 500.",
        dead_at=NOW,
    )
    await store.save_pending(webhook, dead)
    await store.end_webhook(webhook.id, "It answered 410.", NOW)


@pytest.mark.slow
async def test_nothing_that_has_ended_is_left(filled_store: SqlStore) -> None:
    clock = ManualClock(LATER)
    history = History(
        filled_store,
        clock,
        changes_kept=DAY,
        readings_raw=7 * DAY,
        readings_kept=365 * DAY,
        orders_kept=30 * DAY,
        most_readings=1_000_000,
        token_lifetime=TOKEN_LIFETIME,
    )
    await fill(filled_store)
    filled = await count(filled_store)
    only_on_sqlite = {"changes_by_plant"}
    assert {name for name, rows in filled.items() if not rows} - only_on_sqlite == {"hourly_readings", "raw_readings"}
    await history.prune()
    await filled_store.prune_pending(LATER - 30 * DAY)
    left = {name: rows for name, rows in (await count(filled_store)).items() if rows}
    # The newest change gives the next cursor; the last grant shows what the person agreed to.
    assert left == {"changes": 1, "grants": 1}
    assert [grant.id for grant in await filled_store.list_grants(ANNA.id)] == [an_id(61)]


class TestGrants:
    async def test_stay_while_one_of_their_tokens_may_be_valid(self, filled_store: SqlStore) -> None:
        for number in (60, 61):
            grant = msgspec.structs.replace(a_grant(number), created_at=NOW + number, auth_time=NOW, flow=GrantType.IMPLICIT)
            await filled_store.add_grant(grant)
        await filled_store.prune_authorization(NOW + 60 + TOKEN_LIFETIME - 1, TOKEN_LIFETIME)
        assert await filled_store.find_grant(an_id(60)) is not None
        await filled_store.prune_authorization(NOW + 60 + TOKEN_LIFETIME, TOKEN_LIFETIME)
        assert await filled_store.find_grant(an_id(60)) is None
        assert await filled_store.find_grant(an_id(61)) is not None

    async def test_stay_while_they_have_a_refresh_token_or_a_webhook(self, filled_store: SqlStore) -> None:
        for number in (60, 61, 62):
            await filled_store.add_grant(msgspec.structs.replace(a_grant(number), created_at=NOW + number, auth_time=NOW))
        await filled_store.add_refresh_token(a_refresh_token(a_grant(60), "long", expires_at=LATER))
        await filled_store.add_webhook(a_webhook(grant_id=an_id(61)))
        await filled_store.prune_authorization(LATER, TOKEN_LIFETIME)
        assert len(await filled_store.list_grants(ANNA.id)) == 3

    async def test_of_operators_and_with_other_rights_stay(self, filled_store: SqlStore) -> None:
        first = msgspec.structs.replace(a_grant(60), auth_time=NOW)
        await filled_store.add_grant(first)
        await filled_store.add_grant(
            msgspec.structs.replace(a_grant(61), created_at=NOW + 1, auth_time=NOW, scopes=("openid",))
        )
        for number in (62, 63):
            await filled_store.add_grant(msgspec.structs.replace(a_grant(number), created_at=NOW + number, auth_time=None))
        await filled_store.add_grant(a_grant(64, created_at=NOW + 64, plants=frozenset({HOUSE.id})))
        await filled_store.prune_authorization(LATER, TOKEN_LIFETIME)
        assert len(await filled_store.list_grants(ANNA.id)) == 5

    async def test_for_the_same_plants_go_when_a_later_one_gives_the_same(self, filled_store: SqlStore) -> None:
        for number in (60, 61):
            await filled_store.add_grant(a_grant(number, created_at=NOW + number, plants=frozenset({HOUSE.id, an_id(80)})))
        await filled_store.prune_authorization(LATER, TOKEN_LIFETIME)
        assert [grant.id for grant in await filled_store.list_grants(ANNA.id)] == [an_id(61)]

    async def test_revoked_ones_go_in_pieces_and_are_not_announced_again(
        self, filled_store: SqlStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("domogate.stores.authorization.PRUNE_CHUNK", 2)
        for number in range(60, 65):
            await filled_store.add_grant(a_grant(number))
        await filled_store.revoke_grants(ANNA.id, APP.id, NOW)
        newest = await filled_store.newest_cursor()
        await filled_store.prune_authorization(LATER, TOKEN_LIFETIME)
        assert [await filled_store.find_grant(an_id(number)) for number in range(60, 65)] == [None] * 5
        assert await filled_store.newest_cursor() == newest
