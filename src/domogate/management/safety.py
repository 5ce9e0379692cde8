"""Emergency lighting for the person responsible: state and schedule, logbook, spare parts, and the report as PDF."""

import asyncio
from collections.abc import Callable
from datetime import UTC, tzinfo
from typing import Annotated, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from domogate import __version__, reports
from domogate.common.times import parse_moment
from domogate.domain.ids import DASHED_UUID
from domogate.domain.logbook import LogbookKind
from domogate.http_api.problems import Problem
from domogate.management.operation import Call, Desk, Listing, Operation, Page, cut
from domogate.management.safety_wire import (
    NewEntry,
    ShownEntry,
    ShownOrderList,
    ShownSafety,
    show_entry,
    show_order_list,
    show_site,
)
from domogate.services.refusals import NotFound
from domogate.services.safety import SafetyLogbook

T = TypeVar("T")


async def get_safety(desk: Desk, call: Call) -> ShownSafety:
    return show_site(await _of(desk).see_site(call.id_of("plantId")))


class Period(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    since: Annotated[str, msgspec.Meta(description="ISO 8601, or a day; a month before `until`.")] | None = None
    until: Annotated[str, msgspec.Meta(description="The same, and not included; now.")] | None = None
    timezone: Annotated[str, msgspec.Meta(description="Times as of there: Europe/Rome.", max_length=100)] = "UTC"
    responsible: Annotated[str, msgspec.Meta(description="Printed on the responsible person's line.", max_length=200)] = ""


async def get_report(desk: Desk, call: Call) -> bytes:
    query: Period = call.query
    begin, end = _read("since", parse_moment, query.since), _read("until", parse_moment, query.until)
    if begin is not None and end is not None and begin > end:
        raise Problem(400, "The query is not as expected: since is after until.")
    zone = _read("timezone", _zone, query.timezone)
    assert zone is not None
    report = await _of(desk).make_report(call.id_of("plantId"), begin, end)
    return await asyncio.to_thread(
        reports.print_pdf, report, made_by=f"Domogate {__version__}", zone=zone, responsible=query.responsible
    )


class LogbookPage(Page, frozen=True, forbid_unknown_fields=True):
    since: Annotated[str, msgspec.Meta(description="ISO 8601, or a day; the beginning.")] | None = None
    until: Annotated[str, msgspec.Meta(description="The same, and not included.")] | None = None
    kind: Annotated[LogbookKind, msgspec.Meta(description="Only entries of this kind.")] | None = None


async def list_logbook(desk: Desk, call: Call) -> Listing[ShownEntry]:
    query: LogbookPage = call.query
    found = await _of(desk).list_entries(
        call.id_of("plantId"),
        since=_read("since", parse_moment, query.since) or 0.0,
        until=_read("until", parse_moment, query.until),
        kinds=() if query.kind is None else (query.kind,),
        after=_after(query.after),
        limit=query.limit + 1,
    )
    entries, following = cut(found, query.limit, lambda one: str(one.number))
    return Listing([show_entry(one) for one in entries], following)


async def write_entry(desk: Desk, call: Call) -> ShownEntry:
    body: NewEntry = call.body
    module_id = None if body.module_id is None else DASHED_UUID.parse_id(body.module_id)
    if body.module_id is not None and module_id is None:
        raise NotFound(f"moduleId must be {DASHED_UUID.name}.")
    written = await _of(desk).write(
        call.id_of("plantId"),
        body.kind,
        by=body.by,
        words=body.words,
        module_id=module_id,
        at=None if body.at is None else body.at.timestamp(),
        who=call.operator.id,
        address=call.address,
    )
    return show_entry(written)


async def get_order_list(desk: Desk, call: Call) -> ShownOrderList:
    safety = _of(desk)
    return show_order_list(await safety.list_orders(await safety.see_site(call.id_of("plantId"))))


def _of(desk: Desk) -> SafetyLogbook:
    return SafetyLogbook(desk.store, desk.clock, desk.audit)


def _read(name: str, parse: Callable[[str], T], text: str | None) -> T | None:
    try:
        return None if text is None else parse(text)
    except ValueError as error:
        raise Problem(400, f"The query is not as expected: {name}: {error}") from None


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is no time zone that is known here.") from None


def _after(text: str | None) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise Problem(400, "The query is not as expected: `after` must be `next` of the page before.")
    return int(text)


_OF_PLANT = "/plants/{plantId}"

OPERATIONS = (
    Operation(
        id="getSafety", tag="safety", summary="A site of emergency lighting: state, tests and when the next are due",
        method="GET", path=f"{_OF_PLANT}/safety", handler=get_safety, answer=ShownSafety, errors=frozenset({404}),
    ),
    Operation(
        id="getSafetyReport", tag="safety", summary="The report for the responsible person, as PDF",
        method="GET", path=f"{_OF_PLANT}/safety/report", handler=get_report,
        query=Period, answer=bytes, media_type="application/pdf", errors=frozenset({404, 422}),
    ),
    Operation(
        id="getSparePartsOrder", tag="safety", summary="The spare parts that the failures of now call for, added up",
        method="GET", path=f"{_OF_PLANT}/spare-parts-order", handler=get_order_list,
        answer=ShownOrderList, errors=frozenset({404}),
    ),
    Operation(
        id="listLogbook", tag="safety", summary="What is logged of a site, in the order it was written down",
        method="GET", path=f"{_OF_PLANT}/logbook", handler=list_logbook,
        query=LogbookPage, answer=Listing[ShownEntry], errors=frozenset({404}),
    ),
    Operation(
        id="writeLogbook", tag="safety", summary="Write in the logbook what people did; it cannot be changed afterwards",
        method="POST", path=f"{_OF_PLANT}/logbook", handler=write_entry,
        body=NewEntry, answer=ShownEntry, status=201, errors=frozenset({404, 422}),
    ),
)  # fmt: skip
