"""Adds tables for recovery codes and users' accounts at external issuers. Makes the keys of e-mail addresses more exact.

A key is the form of an address by which a user is found. With the old keys, different addresses could have the same key.
"""

import unicodedata

import sqlalchemy as sa
from alembic import op

from domogate.common.log import get_logger
from domogate.stores import columns as col

revision = "0011"
down_revision = "0010"

_log = get_logger(__name__)


def upgrade() -> None:
    op.create_table(
        "recovery_codes",
        col.reference("user_id", "users.id", cascade=True),
        *col.strings("code_hash"),
        sa.PrimaryKeyConstraint("user_id", "code_hash"),
    )
    op.create_table(
        "external_accounts",
        *col.strings("issuer", "subject"),
        col.reference("user_id", "users.id", cascade=True),
        *col.doubles("bound_at"),
        sa.PrimaryKeyConstraint("issuer", "subject"),
        sa.Index(None, "user_id", "issuer", unique=True),
    )
    _renew_keys_of_emails()


def _renew_keys_of_emails() -> None:
    """Compute the keys of e-mail addresses again.

    The old keys were casefolded. So different Unicode letters could give the same key. The keys of ASCII addresses stay the
    same.
    """
    connection = op.get_bind()
    _renew_users(connection)
    _renew_invitations(connection)


def _renew_users(connection: sa.Connection) -> None:
    """Compute `email_key` of all users again. This is the form of the address by which a user is found.

    Two users can have one address in two spellings. The reason: an accent can be composed (é) or separate (e with an accent).
    An active user keeps the address. If both users or neither of them are active, the user with the composed spelling keeps it.
    The other user gets an address that cannot receive mail. An operator can give this user another address in the estate file,
    or delete the user.
    """
    users = sa.table("users", *map(sa.column, ("id", "email", "email_key", "password_hash", "email_verified")))
    rows = connection.execute(sa.select(users)).all()
    owners: dict[str, str] = {}
    changed = []
    for row in sorted(rows, key=lambda row: (row.password_hash is None, not _is_composed(row.email), row.id)):
        email, key, verified = row.email, _key_of(row.email), row.email_verified
        if key in owners:
            _log.warning("two users had the same e-mail address", user=row.id, keeps_the_address=owners[key])
            email = key = f"{row.id}@duplicate.invalid"
            verified = False
        owners[key] = row.id
        if (email, key) != (row.email, row.email_key):
            changed.append({"of_id": row.id, "email": email, "email_key": key, "email_verified": verified})
    of_user = users.c.id == sa.bindparam("of_id")
    for values in changed:  # A new key can be the old key of another user.
        connection.execute(sa.update(users).where(of_user).values(email_key=users.c.id), {"of_id": values["of_id"]})
    for values in changed:
        connection.execute(sa.update(users).where(of_user), values)


def _renew_invitations(connection: sa.Connection) -> None:
    """Compute the column `email_key` of all invitations again.

    Two invitations of a plant may have addresses that differ only in how accents are written (composed or separate) and in the
    case of ASCII letters. Then only one of the two is kept: if possible, one with the composed form (NFC).
    """
    invitations = sa.table("invitations", *map(sa.column, ("plant_id", "email", "email_key")))
    rows = connection.execute(sa.select(invitations)).all()
    kept: set[tuple[str, str]] = set()
    for row in sorted(rows, key=lambda row: not _is_composed(row.email)):
        same_row = sa.and_(invitations.c.email_key == row.email_key, invitations.c.plant_id == row.plant_id)
        place = (row.plant_id, _key_of(row.email))
        if place in kept:
            connection.execute(sa.delete(invitations).where(same_row))
        elif place[1] != row.email_key:
            connection.execute(sa.update(invitations).where(same_row).values(email_key=place[1]))
        kept.add(place)


def _key_of(email: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in unicodedata.normalize("NFC", email))


def _is_composed(email: str) -> bool:
    return unicodedata.is_normalized("NFC", email)
