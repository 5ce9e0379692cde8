"""Recovery codes, bound accounts of other issuers, and keys of e-mails that do not fold Unicode letters."""

import unicodedata

import sqlalchemy as sa
from alembic import op

from domogate.stores import columns as col

revision = "0011"
down_revision = "0010"


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
        sa.Index("ix_external_accounts_user_id_issuer", "user_id", "issuer", unique=True),
    )
    _renew_keys_of_emails()


def _renew_keys_of_emails() -> None:
    """The former keys were casefolded. Those of ASCII addresses stay the same."""
    connection = op.get_bind()
    for name, own_key in (("users", "id"), ("invitations", "plant_id")):
        table = sa.table(name, *(sa.column(it, sa.String) for it in ("email", "email_key", own_key)))
        rows = connection.execute(sa.select(table.c.email, table.c.email_key, table.c[own_key])).all()
        # A key is unique among all users, and among the invitations to one plant.
        keys = {(row.email_key, "" if own_key == "id" else row[2]) for row in rows}
        for row in rows:
            lower = (letter.lower() if letter.isascii() else letter for letter in unicodedata.normalize("NFC", row.email))
            key = ("".join(lower), "" if own_key == "id" else row[2])
            # Two accounts that would get the same key keep theirs.
            if row.email.isascii() or key in keys:
                continue
            keys.add(key)
            same_row = sa.and_(table.c.email_key == row.email_key, table.c[own_key] == row[2])
            connection.execute(sa.update(table).where(same_row).values(email_key=key[0]))
