"""Used tickets are remembered as long as a gateway could accept them, and then forgotten."""

from domogate.services.plants.history import History
from support.ticket_setup import DEADLINE, TicketSetup, problem_type

DAY = 86_400.0


def history_of(setup: TicketSetup, orders_kept: float) -> History:
    kept = {"changes_kept": DAY, "readings_raw": DAY, "readings_kept": DAY, "orders_kept": orders_kept}
    return History(setup.store, setup.clock, **kept, most_readings=1000)


async def test_a_used_ticket_stays_used_although_orders_are_kept_for_seconds(setup: TicketSetup) -> None:
    history = history_of(setup, orders_kept=1.0)
    ticket = await setup.mint()
    assert (await setup.redeem(ticket)).status_code == 200
    permit = (await setup.entries())[-1].detail["permit"]
    setup.clock.at += 59.0
    await history.prune()
    assert problem_type(await setup.redeem(ticket), 409) == "used"
    setup.clock.at += 3600.0
    await history.prune()
    assert await setup.store.find_order(f"ticket-{permit}") is None
    assert problem_type(await setup.redeem(ticket), 401) == "expired"


async def test_in_a_cluster_a_used_ticket_is_forgotten_an_hour_after_it_expired(setup: TicketSetup) -> None:
    setup.in_cluster = True
    setup.set_deadline(DEADLINE)
    history = history_of(setup, orders_kept=DAY)
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
