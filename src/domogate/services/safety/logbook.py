"""The test schedule of a site, the spare parts to order, the logbook, and a report with all three.

This code uses only the store, so `domogate` commands that use this code need no running gateway.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

import msgspec

from domogate.domain.ids import Id
from domogate.domain.logbook import LogbookEntry, LogbookKind
from domogate.ports import Clock, LogbookFilter, LogbookStore, PlantStore, SparePartStore, StoredEntry
from domogate.services.audit import COMMAND_LINE, AuditAction, AuditLog, AuditResult
from domogate.services.plants.read_model import PlantView
from domogate.services.refusals import Invalid, NotFound, Reason
from domogate.services.safety.order_list import OrderList, list_needs, order
from domogate.services.safety.schedule import add_months, clamp
from domogate.services.safety.site import SafetySite, TestKey, list_future_tests, read_site

LONGEST_NAME, LONGEST_WORDS = 200, 4000
_PAGE = 1000


class SafetyStore(LogbookStore, SparePartStore, PlantStore, Protocol):
    """The parts of the store with logbooks, spare parts and plants."""


class SafetyReport(msgspec.Struct, frozen=True):
    """The state of a site at one time, and its logbook for a period."""

    site: SafetySite
    since: float
    until: float
    orders: OrderList
    entries: tuple[StoredEntry, ...]

    @property
    def has_simulated(self) -> bool:
        """Whether something in the safety report is invented.

        This is so if a device is simulated, or was simulated when an entry of the logbook was written.
        """
        return self.site.summary.simulated > 0 or any(one.entry.simulated for one in self.entries)


class SafetyLogbook:
    """Reads sites and their logbooks, and adds entries that people write."""

    def __init__(self, store: SafetyStore, clock: Clock, audit: AuditLog) -> None:
        self._store = store
        self._clock = clock
        self._audit = audit

    async def read_site(self, plant_id: Id) -> SafetySite:
        """Return the present state of the site. Raises NotFound if the plant does not exist or is not a site."""
        plant, now = await self._find(plant_id), self._clock.now()
        logged = await self._find_tests(plant_id, list_future_tests(plant, now))
        return read_site(plant, await self._list_commissioned(plant_id), logged, now)

    async def list_orders(self, site: SafetySite) -> OrderList:
        needs = list_needs(site)
        references = sorted({need.reference for need in needs})
        return order(needs, {reference: await self._store.find_spare_parts(reference) for reference in references})

    async def list_entries(self, plant_id: Id, wanted: LogbookFilter, limit: int, after: int = 0) -> Sequence[StoredEntry]:
        """Return the first `limit` entries that `wanted` selects. Their numbers are greater than `after`.

        Raises NotFound if there is no such site.
        """
        await self._find(plant_id)
        return await self._store.list_logbook(plant_id, wanted, limit, after)

    async def make_report(self, plant_id: Id, since: float | None = None, until: float | None = None) -> SafetyReport:
        """Make a safety report. The default of `until` is now. The default of `since` is one month before `until`.

        Raises NotFound if there is no such site. Raises Invalid if the period ends before it begins.
        """
        now = self._clock.now()
        end = now if until is None else clamp(until)
        begin = add_months(end, -1) if since is None else clamp(since)
        if begin > end:
            raise Invalid("The period ends before it begins.", Reason.REVERSED_PERIOD)
        site = await self.read_site(plant_id)
        # Without `until` there is no upper limit, so that entries of this second are included.
        entries = [one async for one in self._read_entries(plant_id, LogbookFilter(begin, None if until is None else end))]
        entries.sort(key=lambda one: (one.entry.at, one.number))
        return SafetyReport(site, begin, end, await self.list_orders(site), tuple(entries))

    async def write(
        self,
        plant_id: Id,
        kind: LogbookKind,
        *,
        by: str,
        words: str,
        module_id: Id | None = None,
        at: float | None = None,
        who: str = COMMAND_LINE,
        address: str = "",
    ) -> StoredEntry:
        """Add an entry that a person writes. `at` is the time of the work. The default is now.

        `by` is the name of the person in the entry. `who` is the actor in the audit log.

        Raises NotFound if there is no such site or module. Raises Invalid if only the gateway writes entries of this kind, or
        if a text is not valid. Also raises Invalid if `at` is in the future or before 1970.
        """
        plant = await self._find(plant_id)
        if not kind.by_hand:
            own = ", ".join(kind for kind in LogbookKind if kind.by_hand)
            raise Invalid(f"entries of kind {kind} are made by the gateway; people write {own}.")
        by, words = _checked("by", by, LONGEST_NAME), _checked("words", words, LONGEST_WORDS)
        if module_id is not None and module_id not in plant.modules:
            raise NotFound(f"There is no module {module_id} in this plant.")
        now = self._clock.now()
        done_at = now if at is None else at
        if not 0.0 <= done_at <= now:
            raise Invalid("at: the time must not be in the future, and not before 1970.", Reason.TIME_IN_FUTURE)
        name = "" if module_id is None else plant.modules[module_id].module.name
        entry = LogbookEntry(plant_id=plant_id, at=done_at, kind=kind, module_id=module_id, module=name, words=words, by=by)
        number = await self._store.add_logbook_entry(entry)
        self._audit.note(
            AuditAction.LOGBOOK_WRITTEN,
            who=who,
            what=f"plant:{plant_id}",
            result=AuditResult.OK,
            address=address,
            detail={"number": str(number), "kind": kind},
        )
        return StoredEntry(number, entry)

    async def _find(self, plant_id: Id) -> PlantView:
        stored = await self._store.find_plant(plant_id)
        if stored is None:
            raise NotFound(f"There is no plant {plant_id}.")
        if not stored.plant.emergency_lighting:
            raise NotFound(f"{stored.plant.name} is not a site of emergency lighting: it has no emergency controller.")
        return PlantView(stored)

    async def _list_commissioned(self, plant_id: Id) -> dict[Id | None, float]:
        """Return the times at which the site (key None) and single units were put into service.

        Each time is from the latest commissioning entry of this site or unit in the logbook.
        """
        found: dict[Id | None, float] = {}
        async for one in self._read_entries(plant_id, LogbookFilter(kinds=(LogbookKind.COMMISSIONING,))):
            found[one.entry.module_id] = max(one.entry.at, found.get(one.entry.module_id, 0.0))
        return found

    async def _find_tests(self, plant_id: Id, wanted: Collection[TestKey]) -> dict[TestKey, float]:
        """Return the time of the logbook entry of each wanted test. Tests without an entry are left out."""
        found: dict[TestKey, float] = {}
        if wanted:
            async for one in self._read_entries(plant_id, LogbookFilter(kinds=(LogbookKind.TEST,))):
                test = one.entry.test
                if test is not None and (key := (one.entry.module_id, test.kind, test.began_at)) in wanted:
                    found[key] = one.entry.at
        return found

    async def _read_entries(self, plant_id: Id, wanted: LogbookFilter) -> AsyncIterator[StoredEntry]:
        after = 0
        while page := await self._store.list_logbook(plant_id, wanted, _PAGE, after):
            for one in page:
                yield one
            after = page[-1].number


def _checked(name: str, text: str, longest: int) -> str:
    text = text.strip()
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Invalid(f"{name} is not valid text.") from None
    if not text or len(text) > longest or any(ord(letter) < 32 and letter not in "\n\t" for letter in text):
        raise Invalid(f"{name} must have 1 to {longest} characters, and no control characters except line feeds and tabs.")
    return text
