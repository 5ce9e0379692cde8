"""The services that the operations of the developer API use."""

import msgspec

from domogate.domain.people import Principal
from domogate.http_api.operations import Call
from domogate.services.developer.faults import DeveloperFaults
from domogate.services.developer.receivers import Receivers
from domogate.services.developer.self_service import SelfService
from domogate.services.people import Actor

DeveloperCall = Call[Principal]


class DeveloperServices(msgspec.Struct, frozen=True):
    self_service: SelfService
    receivers: Receivers
    faults: DeveloperFaults


def actor_of(call: DeveloperCall) -> Actor:
    return Actor(call.caller.user_id, call.address)
