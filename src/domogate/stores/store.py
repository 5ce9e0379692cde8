"""The Store port on SQL: a thin front, subject by subject. How it works is in `lifecycle.py`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from domogate.domain.audit import AuditEntry, AuditRecord
from domogate.domain.commands import Order, OrderEnd, OrderRecord, OrderState
from domogate.domain.estate import Estate
from domogate.domain.ids import Id
from domogate.domain.injections import InjectedFault, Injection
from domogate.domain.people import Subscription
from domogate.domain.plants import Plant, PlantStatus
from domogate.domain.safety import SpareParts
from domogate.domain.states import Reading, ReadingSummary, Report
from domogate.ports import ImportSummary, SigningKey, StoredPlant, Usage
from domogate.stores import (
    audit,
    members,
    plants,
    readings,
    retention,
    spare_parts,
    states,
    subscriptions,
)
from domogate.stores import injections as injected
from domogate.stores import orders as ordered
from domogate.stores.backup import back_up
from domogate.stores.estate_export import export_estate
from domogate.stores.estate_import import import_estate
from domogate.stores.identity import IdentityRows
from domogate.stores.logbook import LogbookRows
from domogate.stores.replay import ReplayRows
from domogate.stores.tickets import TicketRows
from domogate.stores.webhooks import WebhookRows


class SqlStore(IdentityRows, ReplayRows, WebhookRows, TicketRows, LogbookRows):
    """One Store for SQLite and PostgreSQL. `gateway=False` is for a command line: nobody waits for it to apply changes."""

    # plants

    async def find_plant(self, plant_id: Id) -> StoredPlant | None:
        return await self._read(plants.find_plant, plant_id)

    async def list_plants_of(self, user_id: Id) -> tuple[tuple[Plant, ...], int]:
        return await self._read(plants.list_plants_of, user_id)

    async def list_plant_ids(self, driver: str, limit: int) -> tuple[Id, ...]:
        return await self._read(plants.list_plant_ids, driver, limit)

    async def set_plant_status(self, plant_id: Id, status: PlantStatus, at: float) -> None:
        await self._write(plants.set_plant_status, plant_id, status, at)

    async def set_plant_people(self, plant_id: Id, allowed: Sequence[Id], invited: Sequence[str]) -> None:
        await self._write(plants.set_plant_people, plant_id, allowed, invited)

    async def list_plants(self, after: Id | None, limit: int) -> Sequence[Plant]:
        return await self._read(plants.list_plants, after, limit)

    async def allow_user(self, plant_id: Id, user_id: Id) -> bool:
        return await self._write(members.allow_user, plant_id, user_id)

    async def withdraw_user(self, plant_id: Id, user_id: Id) -> bool:
        return await self._write(members.withdraw_user, plant_id, user_id)

    async def invite(self, plant_id: Id, email: str) -> bool:
        return await self._write(members.invite, plant_id, email)

    async def withdraw_invitation(self, plant_id: Id, email: str) -> bool:
        return await self._write(members.withdraw_invitation, plant_id, email)

    async def set_module_options(self, module_id: Id, options: dict[str, Any]) -> bool:
        return await self._write(plants.set_module_options, module_id, options)

    # states and history

    async def record(self, reports: Sequence[Report]) -> None:
        if reports:
            await self._running().submit(None, reports)

    async def list_readings(self, module_id: Id, since: float, until: float, limit: int) -> Sequence[tuple[str, Reading]]:
        return await self._read(readings.list_readings, module_id, since, until, limit)

    async def list_summaries(
        self, module_id: Id, since: float, until: float, resolution: float, limit: int
    ) -> Sequence[ReadingSummary]:
        return await self._read(readings.list_summaries, module_id, since, until, resolution, limit)

    async def summarise_readings(self, before: float) -> None:
        """Whole hours only, in pieces."""
        while await self._write(retention.summarise_oldest, retention.hour_of(before)):
            pass

    async def prune_changes(self, before: float) -> None:
        while await self._write(states.prune_changes, before):
            pass

    async def prune_orders(self, before: float) -> None:
        while await self._write(ordered.prune_orders, before):
            pass

    async def prune_readings(self, before: float, most: int) -> None:
        """In pieces, so that other writes get their turn in between; whole hours only."""
        for prune in (retention.prune_raw, retention.prune_hourly):
            while await self._write(prune, retention.hour_of(before)):
                pass
        excess = await self._read(retention.count_readings) - most
        while excess > 0 and (gone := await self._write(retention.prune_excess, excess)):
            excess -= gone

    # orders

    async def add_orders(self, orders: Sequence[Order], at: float, *, sent: bool) -> Sequence[OrderRecord | None]:
        if not orders:
            return []
        there: Sequence[OrderRecord | None] = await self._running().submit(
            None, change=ordered.add_orders(orders, at, sent=sent)
        )
        return there

    async def mark_sent(self, order_id: str, at: float) -> bool:
        to_send: bool = await self._running().submit(None, change=ordered.MarkSent(order_id, at))
        return to_send

    async def end_order(self, end: OrderEnd, report: Report | None = None) -> None:
        await self._running().submit(None, () if report is None else (report,), ordered.end_order(end))

    async def settle_orders(self, at: float) -> int:
        return await self._write(ordered.settle_orders, at)

    async def find_order(self, order_id: str) -> OrderRecord | None:
        return await self._read(ordered.find_order, order_id)

    async def list_orders(
        self, plant_id: Id | None, module_id: Id | None, state: OrderState | None, before: float | None, limit: int
    ) -> Sequence[OrderRecord]:
        return await self._read(ordered.list_orders, plant_id, module_id, state, before, limit)

    # faults on demand

    async def inject(self, plant_id: Id, injections: Sequence[Injection]) -> bool:
        return await self._write(injected.inject, plant_id, injections)

    async def clear_injections(
        self,
        plant_id: Id | None,
        module_id: Id | None = None,
        fault: InjectedFault | None = None,
        *,
        ended_by: float | None = None,
    ) -> int:
        return await self._write(injected.clear_injections, plant_id, module_id, fault, ended_by)

    async def list_injections(self) -> Sequence[tuple[Id, Injection]]:
        return await self._read(injected.list_injections)

    # audit

    async def append_audit(self, entries: Sequence[AuditEntry]) -> None:
        if entries:
            await self._write(audit.append_audit, entries)

    async def list_audit(self, after: int, limit: int) -> Sequence[AuditRecord]:
        return await self._read(audit.list_audit, after, limit)

    async def prune_audit(self, before: float) -> None:
        """In pieces, so that other writes get their turn in between."""
        while await self._write(audit.prune_audit, before):
            pass

    async def find_pseudonym(self, user_id: Id) -> str:
        known = await self._read(audit.find_pseudonym, user_id)
        return known if known is not None else await self._write(audit.make_pseudonym, user_id)

    # subscription keys, signing keys, spare parts

    async def find_subscription(self, key_hash: str) -> Subscription | None:
        return await self._read(subscriptions.find_subscription, key_hash)

    async def list_subscriptions(self) -> Sequence[Subscription]:
        return await self._read(subscriptions.list_subscriptions)

    async def add_subscription(self, subscription: Subscription) -> None:
        await self._write(subscriptions.add_subscription, subscription)

    async def revoke_subscription(self, subscription_id: Id, at: float) -> bool:
        return await self._write(subscriptions.revoke_subscription, subscription_id, at)

    async def add_usage(self, usages: Sequence[Usage]) -> None:
        if usages:
            await self._write(subscriptions.add_usage, usages)

    async def find_usage(self, subscription_id: Id, day: str) -> int:
        return await self._read(subscriptions.find_usage, subscription_id, day)

    async def list_signing_keys(self) -> Sequence[SigningKey]:
        return await self._read(subscriptions.list_signing_keys)

    async def add_signing_key(self, key: SigningKey) -> None:
        await self._write(subscriptions.add_signing_key, key)

    async def find_spare_parts(self, unit: str) -> SpareParts | None:
        return await self._read(spare_parts.find_spare_parts, unit)

    # the whole

    async def import_estate(self, estate: Estate, *, prune: bool) -> ImportSummary:
        return await self._write(import_estate, estate, prune=prune)

    async def export_estate(self) -> Estate:
        return await self._read(export_estate)

    async def backup(self, path: Path) -> None:
        assert self._database is not None, "the store is not started"
        await asyncio.to_thread(back_up, self._database, path)
