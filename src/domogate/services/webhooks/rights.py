"""Checks the rights of a webhook before each event is sent to its receiver (Decision 0043)."""

from collections.abc import Callable

import msgspec

from domogate.common.feed_cache import FeedCache
from domogate.domain.events import ChangesLost, ClientChanged, GrantRevoked, UserChanged
from domogate.domain.faults import NoSuchPlant, NotYourPlant, PasswordToRenew, TermsToAccept, sentence
from domogate.domain.ids import Id
from domogate.domain.shards import shard_of
from domogate.domain.webhooks import EndReason, Webhook
from domogate.ports import Clock, Fenced, Holdings
from domogate.services.plants.read_model import ReadModel
from domogate.services.rights.access import Access, check_standing, get_access
from domogate.services.rights.grants import GrantEnded, GrantHolder, get_grant_holder
from domogate.services.rights.identity_cache import IdentityCache

_VIEWERS = 10_000
"""The largest number of `_Viewer` objects in the cache."""


class _ViewerKey(msgspec.Struct, frozen=True):
    """The fields of a webhook that decide what the webhook may see. The stored users, clients and grants also decide this."""

    grant_id: Id
    user_id: Id
    client_id: str
    scopes: tuple[str, ...]


class _Viewer(msgspec.Struct, frozen=True):
    """The rights of a webhook now. `holder` has its user, and only the scopes that both the webhook and its grant have."""

    key: _ViewerKey
    holder: GrantHolder


class WebhookEnded(Exception):
    """The webhook must end. Nothing is delivered to it any more.

    The dispatcher stores the end of the webhook with the message of this exception. The message says why the webhook ended.
    If the message is empty, the webhook was already ended or removed in the store, and nothing is stored.
    """


class OnHold(Exception):
    """Nothing is delivered now. The events are kept and tried again later. The message says what the user has to do first."""


class NotCurrent(Exception):
    """Perhaps this gateway does not know the latest rights. So it delivers nothing now."""


class WebhookRights:
    """Checks the grant of a webhook and the rights of its user.

    In a cluster, also checks whether this gateway may deliver the webhook now.
    """

    def __init__(
        self,
        identities: IdentityCache,
        read_model: ReadModel,
        clock: Clock,
        *,
        holdings: Holdings | None = None,
        is_current: Callable[[], bool] = lambda: True,
    ) -> None:
        """`is_current` says whether this gateway knows all changes made more than `knowledge_bound` (a setting) seconds ago."""
        self._identities = identities
        self._viewers = FeedCache(
            self._find_viewer,
            capacity=_VIEWERS,
            invalidated_by={
                UserChanged: lambda event: (event.user_id,),
                ClientChanged: lambda event: (event.client_id,),
                GrantRevoked: lambda event: (event.grant_id,),
                ChangesLost: lambda _: None,
            },
            tags_of=lambda viewer: (viewer.key.user_id, viewer.key.client_id, viewer.key.grant_id),
        )
        self.apply = self._viewers.apply
        """Forgets the rights that the given changes may have changed."""
        self._read_model = read_model
        self._clock = clock
        self._holdings = holdings
        self._is_current = is_current

    async def _find_viewer(self, key: _ViewerKey) -> _Viewer:
        holder = await get_grant_holder(self._identities, key.grant_id, key.user_id, key.client_id)
        return _Viewer(key, msgspec.structs.replace(holder, scopes=holder.scopes.intersection(key.scopes)))

    async def get_access(self, webhook: Webhook) -> Access:
        """Return what the webhook may see of its plant now.

        Raises WebhookEnded, OnHold, NotCurrent. Raises Fenced if this gateway of a cluster does not hold the plant.
        """
        plant_id = webhook.plant_id
        if self._holdings is not None and self._holdings.epoch_of(plant_id) is None:
            raise Fenced(shard_of(plant_id), None)
        if not self._is_current():
            raise NotCurrent
        try:
            key = _ViewerKey(webhook.grant_id, webhook.user_id, webhook.client_id, tuple(webhook.scopes))
            viewer = self._viewers.find(key) or await self._viewers.get(key)
            assert viewer is not None, "a grant without a holder raises GrantEnded"
            plant = self._read_model.find_plant(plant_id) or await self._read_model.get_plant(plant_id)
            access = get_access(viewer.holder, plant_id, plant, self._clock.now())
            check_standing(viewer.holder.standing)
        except GrantEnded as ended:
            raise WebhookEnded(sentence(str(ended))) from None
        except NoSuchPlant:
            raise WebhookEnded(EndReason.PLANT_REMOVED) from None
        except NotYourPlant:
            raise WebhookEnded(EndReason.RIGHTS_WITHDRAWN) from None
        except (PasswordToRenew, TermsToAccept) as due:
            raise OnHold(sentence(due.message)) from None
        return access
