"""The people of the recorded plants. The recorder has replaced their names and e-mail addresses."""

from collections.abc import Callable, Iterable

from domogate.recording.estate.answers import Record, given
from domogate.recording.estate.plants import SeenPlant

_UNKNOWN_OWNER = "owner@example.com"


class SeenPeople:
    """The users in the recorded answers about all plants, each with an e-mail address.

    An owner without a recorded address gets an address such as owner1@example.com.
    """

    def __init__(self, plants: Iterable[SeenPlant]) -> None:
        self.notes: list[str] = []
        self._emails: dict[str, str] = {}
        """E-mail addresses by the ids of the users."""
        self._has_unknown_owner = False
        listed = [plant.people for plant in plants if plant.people is not None]
        for plant in listed:
            if plant.owner_id is not None and plant.owner_email:
                self._emails[plant.owner_id] = plant.owner_email
            self._emails |= {one.id: one.email for one in plant.allowed_users if one.id is not None}
        nameless = sorted({plant.owner_id for plant in listed if plant.owner_id is not None} - self._emails.keys())
        self._emails |= {owner: f"owner{number}@example.com" for number, owner in enumerate(nameless, start=1)}

    def of_plant(self, plant: SeenPlant) -> Record:
        """Return the part of a plant's record that names people: `owner`, `allowed` and `invited`."""
        people = plant.people
        if people is None:
            if not self._has_unknown_owner:
                self.notes.append(f"Owners: some plants show none. {_UNKNOWN_OWNER} owns them.")
            self._has_unknown_owner = True
            return {"owner": _UNKNOWN_OWNER}
        owner = self._emails.get(people.owner_id or "", people.owner_email or _UNKNOWN_OWNER)
        allowed = [self._emails.get(one.id or "", one.email) for one in people.allowed_users]
        return {
            "owner": owner,
            **given(
                allowed=[email for email in dict.fromkeys(allowed) if email != owner],
                invited=list(dict.fromkeys(one.email for one in people.invited_users)),
            ),
        }

    def records(self, new_password: Callable[[], str]) -> list[Record]:
        """Return the users, each with a new password. Call this method after `of_plant` was called for all plants."""
        users = [{"email": email, "password": new_password(), "id": identity} for identity, email in self._emails.items()]
        if self._has_unknown_owner:
            users.append({"email": _UNKNOWN_OWNER, "password": new_password()})
        return users
