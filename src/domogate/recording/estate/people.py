"""The people of the recorded plants. `domogate record` has replaced their names and e-mail addresses."""

from collections.abc import Callable, Iterable

from domogate.recording.estate.answers import Record, given
from domogate.recording.estate.plants import SeenPlant

_UNKNOWN_OWNER = "owner@example.com"


class SeenPeople:
    """The users of all plants that were recorded, each with an e-mail address.

    An owner without a recorded address gets an address such as owner1@example.com.
    """

    def __init__(self, plants: Iterable[SeenPlant]) -> None:
        self.notes: list[str] = []
        self._emails: dict[str, str] = {}
        """E-mail addresses by the ids of the users."""
        owners = set()
        for plant in plants:
            self._emails |= plant.emails
            if plant.people is not None and plant.people.owner_id is not None:
                owners.add(plant.people.owner_id)
        nameless = sorted(owners - self._emails.keys())
        self._emails |= {owner: f"owner{number}@example.com" for number, owner in enumerate(nameless, start=1)}
        self._ids = {email: identity for identity, email in self._emails.items()}
        self._users: dict[tuple[str, str | None], None] = {}
        """The e-mail addresses and ids of the members of the plants, each once. The id is None if no answer shows it."""

    def of_plant(self, plant: SeenPlant) -> Record:
        """Return the part of a plant's record that names people: `owner`, `allowed` and `invited`."""
        people = plant.people
        if people is None:
            if (_UNKNOWN_OWNER, None) not in self._users:
                self.notes.append(f"Owners: some plants show none. {_UNKNOWN_OWNER} owns them.")
            return {"owner": self._add(None, _UNKNOWN_OWNER)}
        owner = self._add(people.owner_id, people.owner_email)
        allowed = [self._add(one.id, one.email) for one in people.allowed_users]
        return {
            "owner": owner,
            **given(
                allowed=[email for email in dict.fromkeys(allowed) if email != owner],
                invited=list(dict.fromkeys(one.email for one in people.invited_users)),
            ),
        }

    def records(self, new_password: Callable[[], str]) -> list[Record]:
        """Return the users, each with a new password. Call this method after `of_plant` was called for all plants."""
        return [{"email": email, "password": new_password(), **given(id=identity)} for email, identity in self._users]

    def _add(self, identity: str | None, email: str | None) -> str:
        """Add a user. Return the newest e-mail address of the user. Either the id or the address may be None."""
        newest = email or "" if identity is None else self._emails[identity]
        self._users[newest, identity or self._ids.get(newest)] = None
        return newest
