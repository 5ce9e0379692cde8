"""Makes safety reports without a store, and reads the text of a PDF."""

from collections.abc import Sequence
from typing import Any

import pypdfium2

from domogate.domain.estate import EstatePlant
from domogate.domain.ids import Id
from domogate.domain.logbook import LogbookEntry
from domogate.domain.plants import Module
from domogate.domain.safety import SpareParts
from domogate.ports import StoredEntry, StoredPlant, StoredState
from domogate.services.plants.read_model import PlantView
from domogate.services.safety import SafetyReport
from domogate.services.safety.order_list import list_needs, order
from domogate.services.safety.site import read_site
from support.clocks import NOW
from support.safety_site import DAY, PARTS, site_estate


def report_of(units: Sequence[tuple[Module, Any]], entries: Sequence[LogbookEntry] = (), **of_plant: str) -> SafetyReport:
    """As SafetyLogbook makes it."""
    (of,) = site_estate(units, **of_plant).plants
    site = read_site(PlantView(_stored(of)), {}, {}, NOW)
    needs = list_needs(site)
    known: dict[str, SpareParts | None] = {parts.unit: parts for parts in PARTS}
    orders = order(needs, {need.reference: known.get(need.reference) for need in needs})
    numbered = tuple(StoredEntry(number, entry) for number, entry in enumerate(entries, 1))
    return SafetyReport(site, NOW - 30 * DAY, NOW, orders, numbered)


def _stored(of: EstatePlant) -> StoredPlant:
    states: dict[Id, StoredState] = {one.module_id: StoredState(one.state, one.reachable, NOW - 60) for one in of.states}
    return StoredPlant(of.plant, of.topology, states, cursor=1)


def read_pages(pdf: bytes) -> list[str]:
    """The text of each page on one line."""
    document = pypdfium2.PdfDocument(pdf)
    try:
        return [" ".join(page.get_textpage().get_text_range().split()) for page in document]
    finally:
        document.close()
