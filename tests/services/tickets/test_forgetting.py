"""Used tickets are remembered as long as a gateway could accept them, and then forgotten."""

from domogate.services.plants.history import History
from support.entrance import Entrance, problem_type


async def test_a_used_ticket_is_forgotten_an_hour_after_it_expired(entrance: Entrance) -> None:
    day = 86_400.0
    kept = {"changes_kept": day, "readings_raw": day, "readings_kept": day, "orders_kept": day}
    history = History(entrance.store, entrance.clock, **kept, most_readings=1000)
    ticket = await entrance.mint()
    expires_at = entrance.clock.now() + 60
    assert (await entrance.redeem(ticket)).status_code == 200
    permit = (await entrance.entries())[-1].detail["permit"]
    await history.prune()
    assert problem_type(await entrance.redeem(ticket), 409) == "used"
    entrance.clock.at = expires_at + 3600.0
    await history.prune()
    assert not await entrance.store.use_ticket(permit, expires_at)
    entrance.clock.at += 1.0
    await history.prune()
    assert await entrance.store.use_ticket(permit, expires_at)
    assert problem_type(await entrance.redeem(ticket), 401) == "expired"
