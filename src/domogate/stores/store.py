"""The store: all subjects in one class, for SQLite and PostgreSQL."""

import asyncio
from pathlib import Path

from domogate.stores import (
    address,
    attempts,
    clients,
    clock,
    connections,
    estate_history,
    external_accounts,
    favourites,
    grants,
    injections,
    invitation_links,
    logbook,
    members,
    module_search,
    owned,
    passkeys,
    plant_edit,
    plants,
    recovery_codes,
    sealing,
    sessions,
    spare_parts,
)
from domogate.stores.audit import SqlAudit
from domogate.stores.authorization import SqlTokens
from domogate.stores.backup import back_up
from domogate.stores.changes import SqlFeed
from domogate.stores.estate import SqlEstate
from domogate.stores.figures import SqlFigures
from domogate.stores.keys import SqlKeys
from domogate.stores.orders import SqlOrders
from domogate.stores.people import SqlPeople
from domogate.stores.readers import Lane
from domogate.stores.retention import SqlRetention
from domogate.stores.sqlite import SqliteDatabase
from domogate.stores.subject import reads, writes
from domogate.stores.tickets import SqlTickets
from domogate.stores.webhooks import SqlWebhooks
from domogate.stores.write_lock import WriteLock


class SqlStore(
    SqlRetention, SqlOrders, SqlPeople, SqlTokens, SqlWebhooks, SqlTickets, SqlAudit, SqlKeys, SqlFeed, SqlEstate, SqlFigures
):
    """The whole store: the methods of all subjects. Implements Store.

    Some subjects have a class of their own, from which this class inherits. There are two reasons for such a class: a method
    needs more code than one function with SQL, or a `domogate` command opens only this subject.
    """

    # Plants
    find_plant = reads(plants.find_plant, lane=Lane.IN_TURN)
    list_plants = reads(plants.list_plants)
    list_plants_of = reads(plants.list_plants_of)
    list_plant_ids = reads(plants.list_plant_ids)
    find_unnamed_drivers = reads(plants.find_unnamed_drivers)
    set_plant_status = writes(plants.set_plant_status)
    set_module_options = writes(plants.set_module_options)
    edit_plant = writes(plant_edit.edit_plant)
    search_modules = reads(module_search.search_modules)
    find_places = reads(module_search.find_places)
    find_names = reads(module_search.find_names)
    allow_user = writes(members.allow_user)
    set_member_limits = writes(members.set_member_limits)
    withdraw_user = writes(members.withdraw_user)
    invite = writes(members.invite)
    withdraw_invitation = writes(members.withdraw_invitation)
    set_invitation_limits = writes(members.set_invitation_limits)
    add_invitation_link = writes(invitation_links.add_invitation_link)
    find_invitation_link = reads(invitation_links.find_invitation_link)
    list_invitation_links = reads(invitation_links.list_invitation_links)
    withdraw_invitation_link = writes(invitation_links.withdraw_invitation_link)
    join_by_link = writes(invitation_links.join_by_link)
    find_favourites = reads(favourites.find_favourites)
    set_favourites = writes(favourites.set_favourites)

    # Devices
    inject = writes(injections.inject)
    clear_injections = writes(injections.clear_injections)
    list_injections = reads(injections.list_injections)
    list_connections = reads(connections.list_connections)
    set_connection = writes(connections.set_connection)
    delete_connection = writes(connections.delete_connection)

    # People and applications
    find_external_user = reads(external_accounts.find_external_user)
    bind_external_account = writes(external_accounts.bind_external_account)
    list_external_accounts = reads(external_accounts.list_external_accounts)
    unbind_external_accounts = writes(external_accounts.unbind_external_accounts)
    add_passkey = writes(passkeys.add_passkey)
    find_passkey = reads(passkeys.find_passkey)
    list_passkeys = reads(passkeys.list_passkeys)
    rename_passkey = writes(passkeys.rename_passkey)
    remove_passkeys = writes(passkeys.remove_passkeys)
    find_client = reads(clients.find_client)
    list_clients = reads(clients.list_clients)
    save_client = writes(clients.save_client)
    add_client = writes(clients.add_client)
    change_client = writes(clients.change_client)
    delete_client = writes(clients.delete_client)
    find_client_owner = reads(owned.find_client_owner)
    list_own_clients = reads(owned.list_own_clients)
    list_own_subscriptions = reads(owned.list_own_subscriptions)
    add_own_client = writes(owned.add_own_client)
    add_own_subscription = writes(owned.add_own_subscription)
    remove_own_subscription = writes(owned.remove_own_subscription)
    add_grant = writes(grants.add_grant)
    find_grant = reads(grants.find_grant)
    list_grants = reads(grants.list_grants)
    list_grants_of_client = reads(grants.list_grants_of_client)
    revoke_grant = writes(grants.revoke_grant)
    revoke_grants = writes(grants.revoke_grants)
    admit_attempt = writes(attempts.admit, lock=WriteLock.ATTEMPTS)
    take_back_attempt = writes(attempts.take_back, lock=WriteLock.ATTEMPTS)
    succeed_attempt = writes(attempts.succeed, lock=WriteLock.ATTEMPTS)
    use_totp_step = writes(sessions.use_totp_step)
    replace_recovery_codes = writes(recovery_codes.replace_recovery_codes)
    count_recovery_codes = reads(recovery_codes.count_recovery_codes)
    add_session = writes(sessions.add_session)
    find_session = reads(sessions.find_session)
    save_session = writes(sessions.save_session)
    end_session = writes(sessions.end_session)
    end_sessions = writes(sessions.end_sessions)
    list_sessions = reads(sessions.list_sessions)
    add_link = writes(sessions.add_link)
    find_link = reads(sessions.find_link)
    take_link = writes(sessions.take_link)

    # Emergency lighting
    add_logbook_entry = writes(logbook.add_logbook_entry)
    list_logbook = reads(logbook.list_logbook)
    find_spare_parts = reads(spare_parts.find_spare_parts)

    # The gateway
    find_address = reads(address.find_address)
    set_address = writes(address.set_address)
    find_last_time = reads(clock.find_last_time)
    check_clock = writes(clock.check_clock)
    confirm_clock = writes(clock.confirm_clock)
    add_import = writes(estate_history.add_import)
    list_imports = reads(estate_history.list_imports)
    find_import_document = reads(estate_history.find_import_document)
    find_secret_key_id = reads(sealing.find_secret_key_id)
    rotate_secret_key = writes(sealing.rotate_secret_key, long=True)

    async def backup(self, path: Path, *, replace: bool = False, replace_larger: bool = False) -> str | None:
        assert self._database is not None, "the store is not started"
        if not isinstance(self._database, SqliteDatabase):
            raise ValueError("Domogate does not back up PostgreSQL databases: use pg_dump")
        source = self._database.path
        return await asyncio.to_thread(back_up, source, path, replace=replace, replace_larger=replace_larger)
