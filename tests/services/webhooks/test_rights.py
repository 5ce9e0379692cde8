"""The rights of a webhook are looked up once, until the change feed says that they may have changed."""

from unittest.mock import AsyncMock

import pytest

from domogate.services.webhooks.rights import WebhookEnded, WebhookRights
from support.delivery_setup import DeliverySetup


async def test_rights_are_looked_up_again_only_after_a_change_of_the_grant(
    setup: DeliverySetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = await setup.register()
    await setup.settle()  # The dispatcher looks up the rights of a new webhook, too.
    rights = WebhookRights(setup.identities, setup.read_model, setup.clock)
    setup.store.listen(rights.apply)
    find_grant = AsyncMock(wraps=setup.identities.find_grant)
    monkeypatch.setattr(setup.identities, "find_grant", find_grant)
    for _ in range(3):
        access = await rights.get_access(webhook)
        assert access.plant.plant.id == webhook.plant_id
    assert find_grant.await_count == 1
    await setup.store.revoke_grant(webhook.grant_id, setup.clock.now())
    for _ in range(2):
        with pytest.raises(WebhookEnded, match="does not let the application in"):
            await rights.get_access(webhook)
