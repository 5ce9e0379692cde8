"""The last attempts of each webhook are kept, bounded in number."""

import pytest

from domogate.ports import Delivered, Undelivered
from domogate.services.webhooks import delivery_log
from domogate.services.webhooks.delivery_log import MOST, DeliveryLog
from support.clocks import ManualClock
from support.delivery_setup import DeliverySetup, RecordingSender
from support.stores import an_id


async def answered(status: int) -> Delivered:
    return Delivered(status)


async def not_answered() -> Delivered:
    raise Undelivered("no answer")


async def test_the_newest_attempts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_log, "_MOST_WEBHOOKS", 2)
    log = DeliveryLog(ManualClock())
    for number in range(MOST + 5):
        await log.record(an_id(1), str(number), 1, answered(200))
    assert [attempt.event_id for attempt in log.list(an_id(1))] == [str(number) for number in reversed(range(5, MOST + 5))]
    with pytest.raises(Undelivered):
        await log.record(an_id(2), "x", 3, not_answered())
    (failed,) = log.list(an_id(2))
    assert (failed.status, failed.problem, failed.attempt) == (None, "no answer", 3)
    await log.record(an_id(3), "y", 1, answered(500))
    assert log.list(an_id(1)) == (), "of more than two webhooks, the one delivered longest ago is dropped"
    log.forget(an_id(3))
    assert log.list(an_id(3)) == ()


@pytest.mark.slow
async def test_attempts_of_a_delivery_are_logged_until_the_webhook_is_removed(
    setup: DeliverySetup, sender: RecordingSender
) -> None:
    webhook = await setup.register()
    sender.answer = 400
    cursor = await setup.report()
    await setup.settle()
    sender.answer = 204
    await setup.pass_time(3600)
    log = setup.dispatcher.log
    assert [(one.event_id, one.attempt, one.status) for one in log.list(webhook.id)] == [
        (str(cursor), 2, 204), (str(cursor), 1, 400),
    ]  # fmt: skip
    await setup.store.delete_webhook(webhook.id)
    await setup.settle()
    assert log.list(webhook.id) == ()
