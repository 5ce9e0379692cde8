"""Operations on the audit log: search, verify, export."""

import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from domogate.domain.audit import AuditRecord, UnreadableRecord
from domogate.domain.ids import Id
from domogate.domain.people import PAGES_CLIENT
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing, Page, read_cursor
from domogate.http_api.requests import not_as_expected, read_optional_id, read_query_time
from domogate.management.services import ManagementServices, OperatorCall
from domogate.services.audit import AuditAction
from domogate.services.refusals import Conflict
from domogate.wire import InputModel, OutputModel

OPERATIONS = OperationTable("audit")

JSON_LINES = "application/jsonl"
_PSEUDONYM = re.compile(r"user:([0-9a-f]{32})")
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_CLIENT = re.compile(r"\bclient:(\S+)")


class AuditPersonOut(OutputModel, frozen=True):
    """The person whom a pseudonym of a record stands for."""

    pseudonym: str
    user_id: str
    email: str


class AuditNameOut(OutputModel, frozen=True):
    """The name of a plant, module, client or subscription whose id is in a record. `plantId` is the plant of a module."""

    id: str
    kind: Literal["plant", "module", "client", "subscription"]
    name: str
    plant_id: str | None


class AuditRecordOut(OutputModel, frozen=True):
    """A record of the audit log. `who` is a pseudonym, a client, the command line, the gateway, nobody, or a deleted user.

    `people` and `names` are empty unless they were asked for. They do not contain deleted people and deleted things.
    """

    number: int
    at: datetime
    action: str
    who: str
    what: str
    result: str
    address: str
    detail: dict[str, str]
    hash: str
    people: tuple[AuditPersonOut, ...]
    names: tuple[AuditNameOut, ...]


class BrokenOut(OutputModel, frozen=True):
    """The first record that was changed or is missing."""

    number: int
    problem: str


class AuditOrder(StrEnum):
    OLDEST = "oldest"
    NEWEST = "newest"


_Moment = Annotated[str, Meta(max_length=40, description="ISO 8601, or epoch seconds.")]


class AuditPage(Page, frozen=True, forbid_unknown_fields=True, rename="camel"):
    action: Annotated[str, Meta(max_length=100, description="Only entries of these actions, separated by commas.")] | None = (
        None
    )
    successful: (
        Annotated[bool, Meta(description="true: only entries with the result `ok`; false: only entries with another result.")]
        | None
    ) = None
    user_id: Annotated[str, Meta(description="Only entries by or about this user.")] | None = None
    email: Annotated[str, Meta(max_length=320, description="As `userId`, with the e-mail address of the user.")] | None = None
    since: _Moment | None = None
    until: _Moment | None = None
    order: Annotated[AuditOrder, Meta(description="Which entry is first.")] = AuditOrder.OLDEST
    people: Annotated[bool, Meta(description="Also return the persons whom the pseudonyms stand for.")] = False
    names: Annotated[bool, Meta(description="Also return the names of the plants, modules, clients and keys.")] = False


class AuditExport(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    after: Annotated[int, Meta(ge=0, lt=10**18, description="Only records after this number.")] = 0


class AuditVerification(InputModel, frozen=True):
    """A request to check the audit log. `lastHash` is the last hash of an earlier check.

    If it is given, the check also finds records that are missing at the end of the log.
    """

    last_hash: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None


class VerificationOut(OutputModel, frozen=True):
    """The result of a check.

    Store `lastHash` outside of the gateway, and send it with the next check. `broken` is null if the log is unchanged.
    """

    records: int
    removed: int
    last_hash: str
    broken: BrokenOut | None


@OPERATIONS.add("GET /audit", "The audit log; the oldest entry is first, or the newest with `order=newest`", errors=(409,))
async def list_audit(services: ManagementServices, _call: OperatorCall, query: AuditPage) -> Listing[AuditRecordOut]:
    cursor = None if query.after is None else read_cursor(query.after)
    since, until = read_query_time("since", query.since), read_query_time("until", query.until)
    user_id = await _find_user(services, query)
    if user_id is None and (query.user_id is not None or query.email is not None):
        return Listing([])  # The pseudonym of a deleted user is not known any more.
    await services.audit.flush()
    try:
        found, following = await services.audit.search(
            cursor,
            limit=query.limit,
            newest_first=query.order is AuditOrder.NEWEST,
            action=query.action,
            successful=query.successful,
            user_id=user_id,
            since=since,
            until=until,
        )
    except UnreadableRecord as unreadable:
        raise Conflict(f"Record {unreadable.number} cannot be read: it was changed. Verify the log.") from None
    people = await _find_people(services, found) if query.people else {}
    names = await _find_names(services, found) if query.names else {}
    return Listing([_record_out(record, people, names) for record in found], None if following is None else str(following))


@OPERATIONS.add(
    "POST /audit/verification", "Compute the chain of hashes again, and find the first changed record", errors=(409,)
)
async def verify_audit(services: ManagementServices, _call: OperatorCall, body: AuditVerification) -> VerificationOut:
    await services.audit.flush()
    with services.long_tasks.run("verification"):
        found = await services.audit.verify(last_hash=body.last_hash)
    return VerificationOut.of(found, broken=None if found.broken is None else BrokenOut.of(found.broken))


@OPERATIONS.add("GET /audit/export", "The audit log as JSON lines, for checks without the gateway", media_types=(JSON_LINES,))
async def export_audit(services: ManagementServices, call: OperatorCall, query: AuditExport) -> Response:
    services.people.note(AuditAction.AUDIT_EXPORTED, call.caller, "audit log")
    await services.audit.flush()
    headers = {"content-disposition": 'attachment; filename="audit.jsonl"'}
    return StreamingResponse(services.audit.export(query.after), media_type=JSON_LINES, headers=headers)


async def _find_user(services: ManagementServices, query: AuditPage) -> Id | None:
    """Return the id of the user whose records are wanted. Return None if no user is given, or the user does not exist.

    Raises Problem if both `userId` and `email` are given.
    """
    if query.user_id is not None and query.email is not None:
        raise not_as_expected("query", "give `userId` or `email`, not both")
    user_id = read_optional_id("query", "userId", query.user_id)
    if user_id is not None:
        user = await services.store.find_user(user_id)
    else:
        user = None if query.email is None else await services.store.find_user_by_email(query.email)
    return None if user is None else user.id


async def _find_people(services: ManagementServices, records: Sequence[AuditRecord]) -> dict[str, AuditPersonOut]:
    """Return the people whose pseudonyms are in these records, by pseudonym."""
    named = {pseudonym for record in records for pseudonym in _pseudonyms_of(record)}
    people: dict[str, AuditPersonOut] = {}
    for pseudonym, user_id in (await services.store.list_pseudonyms(named)).items():
        user = await services.store.find_user(user_id)
        if user is not None:
            people[pseudonym] = AuditPersonOut(pseudonym, user.id, user.email)
    return people


def _pseudonyms_of(record: AuditRecord) -> list[str]:
    entry = record.entry
    return _PSEUDONYM.findall(" ".join((entry.who, entry.what, *entry.detail.values())))


async def _find_names(services: ManagementServices, records: Sequence[AuditRecord]) -> dict[str, AuditNameOut]:
    """Return the names of the things whose ids are in these records, by id."""
    ids = sorted({one for record in records for one in _ids_of(record)} - {PAGES_CLIENT})
    return {one: AuditNameOut.of(named, id=one) for one, named in (await services.store.find_names(ids)).items()}


def _ids_of(record: AuditRecord) -> list[str]:
    entry = record.entry
    text = " ".join((entry.who, entry.what, *entry.detail.values()))
    return [*_UUID.findall(text), *_CLIENT.findall(text), *filter(None, (entry.detail.get("client"),))]


def _record_out(record: AuditRecord, people: dict[str, AuditPersonOut], names: dict[str, AuditNameOut]) -> AuditRecordOut:
    persons = tuple(people[name] for name in dict.fromkeys(_pseudonyms_of(record)) if name in people)
    things = tuple(names[one] for one in dict.fromkeys(_ids_of(record)) if one in names)
    return AuditRecordOut.of(record, record.entry, people=persons, names=things)
