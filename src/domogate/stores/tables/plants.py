"""Tables with plants, their people and modules, the states of the modules, the history of imports, and spare parts."""

from sqlalchemy import Boolean, Column, Index, Integer, PrimaryKeyConstraint, false

from domogate.stores import columns as col
from domogate.stores.tables._metadata import partial_index, table

plants = table(
    "plants",
    col.key("id"),
    *col.strings("internal_id", "name", "type", "status"),
    *col.optional_doubles("removed_at"),
    *col.optional_strings("country", "zip_code", "address", "time_zone"),
    *col.flags("marked_as_site"),
)

members = table(
    "members",
    col.reference("plant_id", "plants.id", cascade=True),
    col.reference("user_id", "users.id"),
    *col.flags("owner"),
    *col.integers("position"),
    # The newest change when the person joined. The person gets only the events of later changes.
    Column("since", col.CURSOR, nullable=False, server_default="0"),
    *col.optional_texts("limits"),
    PrimaryKeyConstraint("plant_id", "user_id"),
    *col.indexes("user_id"),
)

# The favourite modules of a person, as a list of ids. A deleted module stays in the list, but is not shown.
favourites = table(
    "favourites",
    col.reference("user_id", "users.id", cascade=True),
    col.reference("plant_id", "plants.id", cascade=True),
    *col.texts("modules"),
    PrimaryKeyConstraint("user_id", "plant_id"),
    *col.indexes("plant_id"),
)

invitations = table(
    "invitations",
    col.reference("plant_id", "plants.id", cascade=True),
    *col.strings("email_key", "email"),
    *col.integers("position"),
    *col.optional_texts("limits"),
    PrimaryKeyConstraint("plant_id", "email_key"),
    *col.indexes("email_key"),
)

# Links with which a person joins the plant. `user_id` is the owner who made the link.
invitation_links = table(
    "invitation_links",
    col.key("id"),
    *col.strings("token_hash"),
    col.reference("plant_id", "plants.id", cascade=True),
    col.reference("user_id", "users.id", cascade=True),
    *col.strings("note"),
    *col.doubles("created_at", "expires_at"),
    *col.optional_texts("limits"),
    Index(None, "token_hash", unique=True),
    *col.indexes("plant_id", "user_id", "expires_at"),
)

floors = table(
    "floors",
    col.key("id"),
    col.reference("plant_id", "plants.id"),
    *col.integers("position"),
    *col.strings("internal_id", "name"),
    *col.indexes("plant_id"),
)

ambients = table(
    "ambients",
    col.key("id"),
    col.reference("plant_id", "plants.id"),
    col.reference("floor_id", "floors.id", optional=True),
    *col.integers("position"),
    *col.strings("internal_id", "name", "type"),
    *col.indexes("plant_id", "floor_id"),
)

modules = table(
    "modules",
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
    # False: the module is from an estate file of an earlier version, in which modules did not need to name a driver.
    Column("driver_named", Boolean, nullable=False, server_default=false()),
    Index(None, "plant_id", "kind"),
    Index(None, "driver", "plant_id"),
    *col.indexes("ambient_id", "reference"),
)
# Most databases have no module without a named driver. So this index is empty, and the check at each start takes no time.
partial_index("ix_modules_unnamed_driver", modules.c.plant_id, modules.c.driver_named.is_(False))

states = table(
    "states",
    col.reference("module_id", "modules.id", cascade=True, primary_key=True),
    *col.optional_texts("state"),
    *col.flags("reachable"),
    *col.doubles("at"),
    *col.optional_texts("absence"),
    sqlite_with_rowid=False,
)

# The history of imports. `document` is compressed, and null if it is not kept.
estate_imports = table(
    "estate_imports",
    Column("number", Integer, primary_key=True),
    *col.doubles("at"),
    *col.optional_strings("user_id"),
    *col.flags("prune"),
    *col.texts("summary"),
    *col.optional_binaries("document"),
    sqlite_autoincrement=True,
)

spare_parts = table("spare_parts", col.key("unit"), *col.texts("parts"))
