"""Plants with their people and modules, and the states of the modules."""

from sqlalchemy import Index, PrimaryKeyConstraint, Table

from domogate.stores import columns as col
from domogate.stores.tables._metadata import metadata

plants = Table(
    "plants",
    metadata,
    col.key("id"),
    *col.strings("internal_id", "name", "type", "status"),
    *col.optional_doubles("removed_at"),
    *col.optional_strings("country", "zip_code", "address"),
    *col.flags("marked_as_site"),
)

members = Table(
    "members",
    metadata,
    col.reference("plant_id", "plants.id", cascade=True),
    col.reference("user_id", "users.id"),
    *col.flags("owner"),
    *col.integers("position"),
    # The newest change when the person joined. The person gets only the events of later changes.
    *col.cursors("since"),
    *col.optional_texts("limits"),
    PrimaryKeyConstraint("plant_id", "user_id"),
    Index("ix_members_user_id", "user_id"),
)

invitations = Table(
    "invitations",
    metadata,
    col.reference("plant_id", "plants.id", cascade=True),
    *col.strings("email_key", "email"),
    *col.integers("position"),
    *col.optional_texts("limits"),
    PrimaryKeyConstraint("plant_id", "email_key"),
    Index("ix_invitations_email_key", "email_key"),
)

floors = Table(
    "floors",
    metadata,
    col.key("id"),
    col.reference("plant_id", "plants.id"),
    *col.integers("position"),
    *col.strings("internal_id", "name"),
    Index("ix_floors_plant_id", "plant_id"),
)

ambients = Table(
    "ambients",
    metadata,
    col.key("id"),
    col.reference("plant_id", "plants.id"),
    col.reference("floor_id", "floors.id", optional=True),
    *col.integers("position"),
    *col.strings("internal_id", "name", "type"),
    Index("ix_ambients_plant_id", "plant_id"),
    Index("ix_ambients_floor_id", "floor_id"),
)

modules = Table(
    "modules",
    metadata,
    col.key("id"),
    col.reference("plant_id", "plants.id"),
    col.reference("ambient_id", "ambients.id", optional=True),
    *col.integers("position"),
    *col.strings("internal_id", "name", "kind", "driver"),
    *col.optional_strings("type", "hw_type", "device_type"),
    *col.optional_texts("metrics", "capabilities", "detail"),
    *col.texts("options"),
    # `reference` of an emergency unit is copied from `detail`, for searches (E19).
    *col.optional_strings("controller_id", "reference"),
    # False: the module is from an estate file of an earlier version, which need not name a driver.
    *col.flags("driver_named"),
    Index("ix_modules_plant_id_kind", "plant_id", "kind"),
    Index("ix_modules_driver_plant_id", "driver", "plant_id"),
    Index("ix_modules_ambient_id", "ambient_id"),
    Index("ix_modules_reference", "reference"),
)

states = Table(
    "states",
    metadata,
    col.reference("module_id", "modules.id", cascade=True, primary_key=True),
    *col.optional_texts("state"),
    *col.flags("reachable"),
    *col.doubles("at"),
    *col.optional_texts("absence"),
    sqlite_with_rowid=False,
)

spare_parts = Table(
    "spare_parts",
    metadata,
    col.key("unit"),
    *col.texts("parts"),
)
