"""The store: all subjects in one class, for SQLite and PostgreSQL."""

import asyncio
from pathlib import Path

from domogate.stores.address import SqlAddress
from domogate.stores.audit import SqlAudit
from domogate.stores.authorization import SqlTokens
from domogate.stores.backup import back_up
from domogate.stores.changes import SqlFeed
from domogate.stores.clients import SqlClients
from domogate.stores.clock import SqlClock
from domogate.stores.connections import SqlConnections
from domogate.stores.estate import SqlEstate
from domogate.stores.external_accounts import SqlExternalAccounts
from domogate.stores.favourites import SqlFavourites
from domogate.stores.figures import SqlFigures
from domogate.stores.injections import SqlFaults
from domogate.stores.invitation_links import SqlInvitationLinks
from domogate.stores.keys import SqlKeys
from domogate.stores.logbook import SqlLogbook
from domogate.stores.members import SqlMembers
from domogate.stores.module_search import SqlModuleSearch
from domogate.stores.orders import SqlOrders
from domogate.stores.owned import SqlOwned
from domogate.stores.passkeys import SqlPasskeys
from domogate.stores.people import SqlPeople
from domogate.stores.plant_edit import SqlPlantEdit
from domogate.stores.plants import SqlPlants
from domogate.stores.retention import SqlRetention
from domogate.stores.sealing import find_secret_key_id, rotate_secret_key
from domogate.stores.sessions import SqlSessions
from domogate.stores.spare_parts import SqlSpareParts
from domogate.stores.sqlite import SqliteDatabase
from domogate.stores.subject import reads, writes
from domogate.stores.tickets import SqlTickets
from domogate.stores.webhooks import SqlWebhooks


class SqlStore(
    SqlPlants,
    SqlPlantEdit,
    SqlModuleSearch,
    SqlMembers,
    SqlInvitationLinks,
    SqlFavourites,
    SqlRetention,
    SqlOrders,
    SqlFaults,
    SqlConnections,
    SqlPeople,
    SqlExternalAccounts,
    SqlPasskeys,
    SqlClients,
    SqlOwned,
    SqlTokens,
    SqlSessions,
    SqlWebhooks,
    SqlTickets,
    SqlLogbook,
    SqlSpareParts,
    SqlAudit,
    SqlKeys,
    SqlFeed,
    SqlClock,
    SqlAddress,
    SqlEstate,
    SqlFigures,
):
    """The whole store: all subjects in one class. Implements Store."""

    find_secret_key_id = reads(find_secret_key_id)
    rotate_secret_key = writes(rotate_secret_key, long=True)

    async def backup(self, path: Path, *, replace: bool = False, replace_larger: bool = False) -> str | None:
        assert self._database is not None, "the store is not started"
        if not isinstance(self._database, SqliteDatabase):
            raise ValueError("Domogate does not back up PostgreSQL databases: use pg_dump")
        source = self._database.path
        return await asyncio.to_thread(back_up, source, path, replace=replace, replace_larger=replace_larger)
