"""Imports the people of an estate: users, clients, subscription keys, and the members of plants.

Passwords, accepted terms, client secrets and revocations in the store are kept. Languages and second factors in the store are
kept if the file does not give them. A file can make a user an operator. But it cannot take this role away from a user that it
lists.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from sqlalchemy import BindParameter, bindparam, delete, insert, select, update

from domogate.domain.estate import Estate
from domogate.domain.events import ClientChanged, SubscriptionChanged, UserChanged
from domogate.domain.formats import email_key
from domogate.domain.ids import Id, new_id
from domogate.domain.people import PAGES_CLIENT, User
from domogate.domain.plants import Member, Plant
from domogate.stores.clients import client_to_row, find_client, list_clients
from domogate.stores.codec import to_json_or_none, to_row
from domogate.stores.engine import Transaction, chunked, execute_many
from domogate.stores.keys import list_subscriptions
from domogate.stores.members import invitation_rows, keep_since, member_rows
from domogate.stores.owned import OWNED_CLIENT, OWNED_SUBSCRIPTION, list_owned
from domogate.stores.people import list_users, user_to_row
from domogate.stores.reconcile import Difference, RowValues, collect, compare, values_of, write
from domogate.stores.tables.identity import clients, users
from domogate.stores.tables.keys import subscriptions
from domogate.stores.tables.plants import invitations, members

_IDS: BindParameter[Any] = bindparam("ids", expanding=True)
_MEMBERS = (
    select(members).where(members.c.plant_id.in_(_IDS)).order_by(members.c.owner.desc(), members.c.position, members.c.user_id)
)
_INVITATIONS = select(invitations).where(invitations.c.plant_id.in_(_IDS)).order_by(invitations.c.position)
_TOTP_SECRET = select(users.c.totp_secret).where(users.c.id == bindparam("of_id"))


class ImportedUsers(msgspec.Struct):
    """The users after an import: finds their stored ids, and lists the users whose e-mail address changes (`renamed`)."""

    difference: Difference
    id_of: dict[Id, Id]
    id_of_email: dict[str, Id]
    active: set[Id]
    renamed: set[Id]

    def find(self, member: Member) -> Id:
        found = self.id_of.get(member.user_id) or self.id_of_email.get(email_key(member.email))
        if found is None:
            raise ValueError(f"there is no user {member.email}")
        return found


def compare_users(tx: Transaction, estate: Estate, *, prune: bool) -> ImportedUsers:
    """Return the users as they will be after the import. Nothing is written.

    A user of the estate updates the stored user with the same id. If no stored user has this id, the user updates the stored
    user with the same e-mail address. But if the estate also lists the id of that stored user, a new user is added. An updated
    user keeps the stored id. Raises ValueError if two users would have the same e-mail address.
    """
    stored = list_users(tx.connection)
    by_id = {user.id: user for user in stored}
    by_email = {email_key(user.email): user for user in stored}
    in_estate = {user.id for user in estate.users}
    id_of = {} if prune else {user.id: user.id for user in stored}
    after = {} if prune else dict(by_id)
    wanted: list[User] = []
    for user in estate.users:
        same_email = by_email.get(email_key(user.email))
        known = by_id.get(user.id) or (same_email if same_email is not None and same_email.id not in in_estate else None)
        if known is not None:
            user_now = msgspec.structs.replace(
                user,
                id=known.id,
                password_hash=known.password_hash or user.password_hash,
                operator=known.operator or user.operator,
                totp_secret=user.totp_secret or known.totp_secret,
                email_verified=known.email_verified and email_key(known.email) == email_key(user.email),
                language=user.language or known.language,
                page_language=known.page_language,
                terms_version=known.terms_version,
            )
        else:
            user_now = user
        id_of[user.id] = user_now.id
        wanted.append(user_now)
        after[user_now.id] = user_now
    difference = compare(tx, users, collect("users", (_user_values(tx, user, by_id) for user in wanted)), prune=prune)
    id_of_email: dict[str, Id] = {}
    for user in after.values():
        if id_of_email.setdefault(email_key(user.email), user.id) != user.id:
            raise ValueError(f"two users would have the e-mail {user.email}")
    return ImportedUsers(
        difference=difference,
        id_of=id_of,
        id_of_email=id_of_email,
        active={user.id for user in after.values() if user.active},
        renamed={new[0] for old, new in difference.updated if old[1] != new[1]},
    )


def write_users(tx: Transaction, difference: Difference) -> None:
    # Users may swap e-mails or get the e-mail of a removed user. So old keys are released before new keys are written.
    taken = {row[2] for row in [*difference.added, *(new for _, new in difference.updated)]}
    leaving = [new[0] for old, new in difference.updated if old[2] != new[2]]
    leaving += [row[0] for row in difference.gone if row[2] in taken]
    release = update(users).where(users.c.id == bindparam("leaving")).values(email_key=users.c.id)
    execute_many(tx.connection, release, [{"leaving": user_id} for user_id in leaving])
    write(tx, users, difference)
    for row in [*difference.added, *(new for _, new in difference.updated)]:
        tx.emit(UserChanged(user_id=row[0]))


def _user_values(tx: Transaction, user: User, stored: Mapping[Id, User]) -> RowValues:
    row = user_to_row(tx, user)
    known = stored.get(user.id)
    if known is not None and user.totp_secret is not None and known.totp_secret == user.totp_secret:
        # Encrypting the secret again would give another text, and the user would count as updated.
        row["totp_secret"] = tx.connection.execute(_TOTP_SECRET, {"of_id": user.id}).scalar_one()
    return values_of(users, row)


def compare_clients(tx: Transaction, estate: Estate, *, prune: bool) -> Difference:
    stored = {client.id: client for client in list_clients(tx.connection)}
    wanted = []
    for client in estate.clients:
        known = stored.get(client.id)
        secret_hash = client.secret_hash if known is None or known.secret_hash is None else known.secret_hash
        wanted.append(msgspec.structs.replace(client, secret_hash=secret_hash))
    # The client of the gateway's own pages is not part of an estate. No import changes or removes it.
    own = find_client(tx.connection, PAGES_CLIENT)
    wanted += [] if own is None else [own]
    # An import does not remove the clients that people registered for themselves.
    listed = {client.id for client in wanted}
    wanted += [stored[one] for one in sorted(list_owned(tx.connection, OWNED_CLIENT) - listed)]
    rows = collect("clients", (values_of(clients, client_to_row(client)) for client in wanted))
    return compare(tx, clients, rows, prune=prune)


def write_clients(tx: Transaction, difference: Difference) -> None:
    write(tx, clients, difference)
    for row in [*difference.added, *(new for _, new in difference.updated)]:
        tx.emit(ClientChanged(client_id=row[0]))


def compare_subscriptions(tx: Transaction, estate: Estate, *, prune: bool) -> Difference:
    """Compare the subscriptions of the estate with the stored subscriptions. Nothing is written.

    Each subscription of the estate updates the stored subscription with the same key. If no stored subscription has this key,
    the subscription of the estate updates the stored subscription with the same id. There is one exception: if the estate
    lists the key of that stored subscription too, the subscription of the estate is added with a new id. A subscription that
    was revoked stays revoked.
    """
    stored = list_subscriptions(tx.connection)
    by_key = {subscription.key_hash: subscription for subscription in stored}
    by_id = {subscription.id: subscription for subscription in stored}
    in_estate = {subscription.key_hash for subscription in estate.subscriptions}
    wanted = []
    for subscription in estate.subscriptions:
        known = by_key.get(subscription.key_hash) or by_id.get(subscription.id)
        if known is not None and known.key_hash != subscription.key_hash and known.key_hash in in_estate:
            subscription = msgspec.structs.replace(subscription, id=new_id())
        elif known is not None:
            revoked_at = subscription.revoked_at if known.revoked_at is None else known.revoked_at
            subscription = msgspec.structs.replace(
                subscription, id=known.id, created_at=known.created_at, revoked_at=revoked_at
            )
        wanted.append(subscription)
    listed = {subscription.id for subscription in wanted}
    wanted += [by_id[Id(one)] for one in sorted(list_owned(tx.connection, OWNED_SUBSCRIPTION) - listed)]
    rows = collect("subscriptions", (values_of(subscriptions, to_row(subscription)) for subscription in wanted))
    return compare(tx, subscriptions, rows, prune=prune)


def write_subscriptions(tx: Transaction, difference: Difference) -> None:
    write(tx, subscriptions, difference)
    key_hash = subscriptions.columns.keys().index("key_hash")
    for hashed in sorted(Difference(difference.added, difference.updated).touched(key_hash)):
        tx.emit(SubscriptionChanged(key_hash=hashed))


class PeopleOfPlants(msgspec.Struct):
    """The plants whose people change, and the new rows of their members and invitations."""

    plant_ids: set[Id]
    members: list[dict[str, object]]
    invitations: list[dict[str, object]]


def compare_members(tx: Transaction, plants: Iterable[Plant], known: ImportedUsers, *, prune: bool) -> PeopleOfPlants:
    """Return owners, allowed users and invitations of the plants whose people change. Nothing is written.

    If `prune` is false, nobody loses access except an owner who is replaced.
    """
    stored_members: dict[Id, dict[Id, str | None]] = defaultdict(dict)
    stored_since: dict[Id, dict[Id, int]] = defaultdict(dict)
    stored_invitations: dict[Id, dict[str, str | None]] = defaultdict(dict)
    plants = list(plants)
    for ids in chunked(plant.id for plant in plants):
        for row in tx.connection.execute(_MEMBERS, {"ids": ids}):
            stored_members[row.plant_id][row.user_id] = row.limits
            stored_since[row.plant_id][row.user_id] = row.since
        for row in tx.connection.execute(_INVITATIONS, {"ids": ids}):
            stored_invitations[row.plant_id][row.email] = row.limits
    position = tx.position

    found = PeopleOfPlants(set(), [], [])
    for plant in plants:
        before = stored_members.get(plant.id, {})
        invited_before = stored_invitations.get(plant.id, {})
        people: dict[Id, str | None] = {known.find(plant.owner): None}
        for member in plant.allowed:
            people.setdefault(known.find(member), to_json_or_none(member.limits))
        invited: dict[str, str | None] = {}
        for invitation in plant.invited:
            invited.setdefault(invitation.email, to_json_or_none(invitation.limits))
        if not prune:
            people = {**people, **{user_id: limits for user_id, limits in list(before.items())[1:] if user_id not in people}}
            invited = {**invited, **{email: limits for email, limits in invited_before.items() if email not in invited}}
        waiting: dict[str, str | None] = {}
        for email, limits in invited.items():
            user_id = known.id_of_email.get(email_key(email))
            if user_id in people:
                continue  # a member needs no invitation, even if the member is not active yet
            if user_id in known.active:
                # A person who joined after the file was written keeps their present limits.
                people[user_id] = before.get(user_id, limits)
            else:
                waiting[email] = limits
        since_of = keep_since(before, stored_since.get(plant.id, {}), position, tx.now)
        rows, waiting_rows = member_rows(plant.id, people, since_of), invitation_rows(plant.id, waiting)
        same_people = [(row["user_id"], row["limits"]) for row in rows] == list(before.items())
        if same_people and [(row["email"], row["limits"]) for row in waiting_rows] == list(invited_before.items()):
            continue
        found.plant_ids.add(plant.id)
        found.members += rows
        found.invitations += waiting_rows
    return found


def write_members(tx: Transaction, people: PeopleOfPlants) -> None:
    of_plants = [{"of_plant": plant_id} for plant_id in sorted(people.plant_ids)]
    execute_many(tx.connection, delete(members).where(members.c.plant_id == bindparam("of_plant")), of_plants)
    execute_many(tx.connection, delete(invitations).where(invitations.c.plant_id == bindparam("of_plant")), of_plants)
    execute_many(tx.connection, insert(members), people.members)
    execute_many(tx.connection, insert(invitations), people.invitations)
