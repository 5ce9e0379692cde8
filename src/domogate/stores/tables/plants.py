"""Plants, who may enter them, what stands in them and what it is in."""

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from domogate.stores.tables._metadata import metadata

plants = Table(
    "plants",
    metadata,
    Column("id", String, primary_key=True),
    Column("internal_id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("type", String, nullable=False),
    Column("status", String, nullable=False),
    Column("removed_at", Double),
    Column("country", String),
    Column("zip_code", String),
    Column("address", String),
    Column("marked_as_site", Boolean, nullable=False),
)

members = Table(
    "members",
    metadata,
    Column("plant_id", ForeignKey("plants.id", ondelete="CASCADE"), nullable=False),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("owner", Boolean, nullable=False),
    Column("position", Integer, nullable=False),
    PrimaryKeyConstraint("plant_id", "user_id"),
    Index("ix_members_user_id", "user_id"),
)

invitations = Table(
    "invitations",
    metadata,
    Column("plant_id", ForeignKey("plants.id", ondelete="CASCADE"), nullable=False),
    Column("email_key", String, nullable=False),
    Column("email", String, nullable=False),
    Column("position", Integer, nullable=False),
    PrimaryKeyConstraint("plant_id", "email_key"),
    Index("ix_invitations_email_key", "email_key"),
)

floors = Table(
    "floors",
    metadata,
    Column("id", String, primary_key=True),
    Column("plant_id", ForeignKey("plants.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("internal_id", String, nullable=False),
    Column("name", String, nullable=False),
    Index("ix_floors_plant_id", "plant_id"),
)

ambients = Table(
    "ambients",
    metadata,
    Column("id", String, primary_key=True),
    Column("plant_id", ForeignKey("plants.id"), nullable=False),
    Column("floor_id", ForeignKey("floors.id")),
    Column("position", Integer, nullable=False),
    Column("internal_id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("type", String, nullable=False),
    Index("ix_ambients_plant_id", "plant_id"),
    Index("ix_ambients_floor_id", "floor_id"),
)

modules = Table(
    "modules",
    metadata,
    Column("id", String, primary_key=True),
    Column("plant_id", ForeignKey("plants.id"), nullable=False),
    Column("ambient_id", ForeignKey("ambients.id")),
    Column("position", Integer, nullable=False),
    Column("internal_id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("driver", String, nullable=False),
    Column("type", String),
    Column("hw_type", String),
    Column("device_type", String),
    Column("metrics", Text),
    Column("capabilities", Text),
    Column("detail", Text),
    Column("options", Text, nullable=False),
    Column("controller_id", String),
    # An emergency unit's reference, taken out of `detail` so that E19 can look it up.
    Column("reference", String),
    Index("ix_modules_plant_id_kind", "plant_id", "kind"),
    Index("ix_modules_driver_plant_id", "driver", "plant_id"),
    Index("ix_modules_ambient_id", "ambient_id"),
    Index("ix_modules_reference", "reference"),
)

states = Table(
    "states",
    metadata,
    Column("module_id", ForeignKey("modules.id", ondelete="CASCADE"), primary_key=True),
    Column("state", Text),
    Column("reachable", Boolean, nullable=False),
    Column("at", Double, nullable=False),
    Column("absence", Text),
    sqlite_with_rowid=False,
)

spare_parts = Table(
    "spare_parts",
    metadata,
    Column("unit", String, primary_key=True),
    Column("parts", Text, nullable=False),
)
