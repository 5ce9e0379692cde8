"""Used tickets are remembered as long as a gateway could accept them, and then forgotten."""

from domogate.services.plants.history import History
from support.ticket_setup import TicketSetup, problem_type


async def test_a_used_ticket_is_forgotten_an_hour_after_it_expired(setup: TicketSetup) -> None:
    day = 86_400.0
    kept = {"changes_kept": day, "readings_raw": day, "readings_kept": day, "orders_kept": day}
    history = History(setup.store, setup.clock, **kept, most_readings=1000)
    ticket = await setup.mint()
    expires_at = setup.clock.now() + 60
    assert (await setup.redeem(ticket)).status_code == 200
    permit = (await setup.entries())[-1].detail["permit"]
    await history.prune()
    assert problem_type(await setup.redeem(ticket), 409) == "used"
    setup.clock.at = expires_at + 3600.0
    await history.prune()
    assert not await setup.store.use_ticket(permit, expires_at)
    setup.clock.at += 1.0
    await history.prune()
    assert await setup.store.use_ticket(permit, expires_at)
    assert problem_type(await setup.redeem(ticket), 401) == "expired"
