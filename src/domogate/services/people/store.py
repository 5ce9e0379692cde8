"""The parts of the store that `People` uses."""

from typing import Protocol

from domogate.ports import (
    ExternalAccountStore,
    GrantStore,
    InvitationLinkStore,
    MemberStore,
    OperatorStore,
    PasskeyStore,
    PeopleStore,
    PlantStore,
    SessionStore,
)
from domogate.services.people.clients import RegistrationStore


class PeopleServiceStore(
    PeopleStore,
    OperatorStore,
    ExternalAccountStore,
    PasskeyStore,
    GrantStore,
    SessionStore,
    PlantStore,
    MemberStore,
    InvitationLinkStore,
    RegistrationStore,
    Protocol,
):
    """The parts of the store with users, their sessions and links, and plants with their people."""
