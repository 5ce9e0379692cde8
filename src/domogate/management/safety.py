"""Operations for the person who is responsible for the emergency lighting of a site: state and schedule, logbook, spare parts,
and the safety report as PDF and CSV."""

import asyncio
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import Response

from domogate import __version__, reports
from domogate.common.times import parse_time_zone
from domogate.domain.ids import DASHED_UUID
from domogate.domain.logbook import LogbookKind
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing, Page, first_page
from domogate.http_api.problems import Problem
from domogate.http_api.requests import parse_parameter, read_query_time, read_time
from domogate.management.safety_wire import (
    LogbookEntryOut,
    NewLogbookEntry,
    SafetySiteOut,
    SparePartsOrderOut,
    logbook_entry_out,
    safety_site_out,
)
from domogate.management.services import ManagementServices, OperatorCall
from domogate.ports import LogbookFilter
from domogate.services.refusals import NotFound, Reason
from domogate.services.safety import SafetyLogbook

OPERATIONS = OperationTable("safety")

PDF = "application/pdf"
CSV = "text/csv"


class ReportTable(StrEnum):
    SUMMARY = "summary"
    UNITS = "units"
    ORDER_LIST = "order-list"
    LOGBOOK = "logbook"


class ReportQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    since: Annotated[str, Meta(description="ISO 8601, or a day. Default: one month before `until`.")] | None = None
    until: Annotated[str, Meta(description="ISO 8601, or a day; this time is not included. Default: now.")] | None = None
    timezone: Annotated[str, Meta(description="Time zone of the printed times, for example Europe/Rome.", max_length=100)] = (
        "UTC"
    )
    responsible: Annotated[str, Meta(description="Name of the responsible person, printed on the PDF.", max_length=200)] = ""
    table: Annotated[ReportTable, Meta(description="Only this table, as CSV. Default: the whole report, as PDF.")] | None = None


class LogbookPage(Page, frozen=True, forbid_unknown_fields=True):
    since: Annotated[str, Meta(description="ISO 8601, or a day. Default: the first entry.")] | None = None
    until: Annotated[str, Meta(description="ISO 8601, or a day; this time is not included.")] | None = None
    kind: Annotated[LogbookKind, Meta(description="Only entries of this kind.")] | None = None


@OPERATIONS.add("GET /plants/{plantId}/safety", "A site of emergency lighting: state, tests, and when the next tests are due")
async def get_safety(services: ManagementServices, call: OperatorCall) -> SafetySiteOut:
    return safety_site_out(await _logbook(services).read_site(call.id_of("plantId")))


@OPERATIONS.add(
    "GET /plants/{plantId}/safety/report",
    "The safety report of a site, as PDF, or one table of the report as CSV",
    media_types=(PDF, CSV),
    errors=(422,),
)
async def get_safety_report(services: ManagementServices, call: OperatorCall, query: ReportQuery) -> Response:
    since, until = read_query_time("since", query.since), read_query_time("until", query.until)
    if since is not None and until is not None and since > until:
        raise Problem(400, "The period ends before it begins.", reason=Reason.REVERSED_PERIOD)
    zone = parse_parameter("timezone", parse_time_zone, query.timezone)
    report = await _logbook(services).make_report(call.id_of("plantId"), since, until)
    if query.table is not None:
        tables = await asyncio.to_thread(reports.print_tables, report, zone)
        return Response(tables[query.table], media_type=CSV)
    content = await asyncio.to_thread(
        reports.print_pdf, report, made_by=f"Domogate {__version__}", zone=zone, responsible=query.responsible
    )
    return Response(content, media_type=PDF)


@OPERATIONS.add(
    "GET /plants/{plantId}/spare-parts-order", "The spare parts that the present failures need, and how many of each part"
)
async def get_spare_parts_order(services: ManagementServices, call: OperatorCall) -> SparePartsOrderOut:
    logbook = _logbook(services)
    return SparePartsOrderOut.of(await logbook.list_orders(await logbook.read_site(call.id_of("plantId"))))


@OPERATIONS.add("GET /plants/{plantId}/logbook", "The logbook of a site, in the order in which it was written")
async def list_logbook(services: ManagementServices, call: OperatorCall, query: LogbookPage) -> Listing[LogbookEntryOut]:
    since, until = read_query_time("since", query.since) or 0.0, read_query_time("until", query.until)
    wanted = LogbookFilter(since, until, () if query.kind is None else (query.kind,))
    plant_id, logbook = call.id_of("plantId"), _logbook(services)
    found = await logbook.list_entries(plant_id, wanted, query.limit + 1, query.after_number)
    return first_page(found, query.limit, lambda one: str(one.number), logbook_entry_out)


@OPERATIONS.add(
    "POST /plants/{plantId}/logbook",
    "Write an entry of a person into the logbook; the entry cannot be changed afterwards",
    status=201,
    errors=(422,),
)
async def write_logbook(services: ManagementServices, call: OperatorCall, body: NewLogbookEntry) -> LogbookEntryOut:
    module_id = None if body.module_id is None else DASHED_UUID.parse_id(body.module_id)
    if body.module_id is not None and module_id is None:
        raise NotFound(f"moduleId must be {DASHED_UUID.name}.")
    written = await _logbook(services).write(
        call.id_of("plantId"),
        body.kind,
        by=body.by,
        words=body.words,
        module_id=module_id,
        at=read_time("at", body.at),
        who=call.caller.user_id,
        address=call.address,
    )
    return logbook_entry_out(written)


def _logbook(services: ManagementServices) -> SafetyLogbook:
    return SafetyLogbook(services.store, services.clock, services.audit)
