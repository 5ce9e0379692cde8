"""Counts of the store: plants, offline modules by reason, webhooks with their deliveries, orders by their end."""

from domogate.domain.commands import OrderEnd, OrderState
from domogate.domain.events import Change, PlantChanged
from domogate.domain.plants import PlantStatus
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import Report
from domogate.domain.webhooks import PendingDelivery
from domogate.stores import SqlStore
from support.clocks import NOW
from support.stored_orders import an_order, confirmed
from support.stores import ANNA, HOUSE, HOUSE_TOPOLOGY, LAMP, PLUG, a_webhook, add_home

MODULES = len(list(HOUSE_TOPOLOGY.every_module()))


def lost(module_id: str, why: AbsenceReason | None) -> Report:
    absence = None if why is None else Absence(why, NOW, '"why":"silent"')
    return Report(HOUSE.id, module_id, NOW, reachable=False, absence=absence)


async def test_an_estate_is_counted(filled_store: SqlStore) -> None:
    figures = await filled_store.count_figures(0.0)
    assert (figures.plants, figures.removed_plants, figures.modules) == (1, 0, MODULES)
    assert figures.database in ("sqlite", "postgresql")
    assert figures.size > 10_000
    assert (figures.absent, figures.ended_orders, figures.open_orders) == ({}, {}, 0)
    assert (figures.webhooks, figures.pending, figures.oldest_pending, figures.dead_letters) == (0, 0, None, 0)


async def test_offline_modules_are_counted_by_reason(filled_store: SqlStore) -> None:
    await filled_store.record([lost(LAMP.id, AbsenceReason.CONNECTION_LOST), lost(PLUG.id, None)])
    assert (await filled_store.count_figures(0.0)).absent == {"connection lost": 1, "": 1}


async def test_a_removed_plant_and_its_modules_do_not_count(filled_store: SqlStore) -> None:
    await add_home(filled_store, ANNA)
    await filled_store.record([lost(LAMP.id, AbsenceReason.SILENT)])
    await filled_store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, NOW)
    figures = await filled_store.count_figures(0.0)
    assert (figures.plants, figures.removed_plants, figures.modules, figures.absent) == (1, 1, 0, {})


async def test_orders_are_counted_by_their_end_since_a_time(filled_store: SqlStore) -> None:
    orders = [an_order(name) for name in ("early", "done", "also", "refused", "open")]
    await filled_store.add_orders(orders, NOW, sent=True)
    for end in (confirmed("early", NOW + 1), confirmed("done", NOW + 3), confirmed("also", NOW + 4)):
        await filled_store.end_order(HOUSE.id, end)
    await filled_store.end_order(HOUSE.id, OrderEnd("refused", OrderState.FAILED, NOW + 5))
    figures = await filled_store.count_figures(NOW + 2)
    assert (figures.ended_orders, figures.open_orders) == ({"confirmed": 2, "failed": 1}, 1)


async def test_webhooks_and_their_deliveries_are_counted(filled_store: SqlStore) -> None:
    webhook = a_webhook()
    assert await filled_store.add_webhook(webhook)
    failing = a_webhook(failing_since=NOW + 2.5, failures=1, next_at=NOW + 5, problem="It answered 503.")
    assert await filled_store.hold_webhook(failing)
    for cursor, dead_at in ((1, NOW), (2, None), (3, None)):
        change = Change(cursor, NOW + cursor, PlantChanged(plant_id=HOUSE.id, user_ids=()))
        await filled_store.save_pending(
            webhook,
            PendingDelivery(
                webhook_id=webhook.id, change=change, module_id=None, attempts=1, next_at=NOW, problem="no", dead_at=dead_at
            ),
        )
    figures = await filled_store.count_figures(0.0)
    assert (figures.webhooks, figures.failing_webhooks) == (1, 1)
    assert (figures.pending, figures.oldest_pending, figures.dead_letters) == (2, NOW + 2, 1)


async def test_events_wait_since_the_receiver_is_unavailable(filled_store: SqlStore) -> None:
    assert await filled_store.add_webhook(a_webhook())
    assert await filled_store.hold_webhook(a_webhook(failing_since=NOW, failures=1, next_at=NOW + 5, problem="away"))
    figures = await filled_store.count_figures(0.0)
    assert (figures.pending, figures.oldest_pending) == (0, NOW)
    await filled_store.end_webhook(a_webhook().id, "gone", NOW + 1)
    assert (await filled_store.count_figures(0.0)).oldest_pending is None
