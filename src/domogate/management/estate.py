"""Operations on the estate file: export, check, difference, import, and the history of imports."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from domogate.common.names import to_camel_case
from domogate.http_api.operations import OperationTable
from domogate.http_api.paging import Listing, Page, first_page, is_cursor, read_cursor
from domogate.management.drivers import SCHEMA
from domogate.management.services import ManagementServices, OperatorCall
from domogate.ports import ImportRecord
from domogate.services.audit import AuditAction
from domogate.services.refusals import NotFound
from domogate.wire import InputModel, OutputModel

YAML = "application/yaml"
MAX_DOCUMENT = 4 * 1024 * 1024
"""The longest document in characters. Larger files can only be imported with the command line."""

# In JSON, a character of the document can need more than one byte.
OPERATIONS = OperationTable("estate", max_body=2 * MAX_DOCUMENT)

_MOST_PROBLEMS, _MOST_CHANGES = 200, 100


class EstateDocument(InputModel, frozen=True):
    document: Annotated[str, Meta(description="The estate file: YAML, at most 4 MiB.", max_length=MAX_DOCUMENT)]


class NewEstateImport(EstateDocument, frozen=True):
    prune: Annotated[bool, Meta(description="Also remove the records that are not in the document.")] = False


class EstateProblemOut(OutputModel, frozen=True):
    """A mistake in a document. `line` and `column` begin with 1. `path` is the place, for example `plants[0].type`."""

    line: int
    column: int
    path: str
    problem: str
    allowed: str
    hint: str


class EstateCheckOut(OutputModel, frozen=True):
    """The first mistakes of a document, in the order of the document, and the number of all mistakes."""

    problems: tuple[EstateProblemOut, ...]
    total: int


class ImportSummaryOut(OutputModel, frozen=True):
    """The numbers of added, updated and removed records, by kind of record.

    The kinds are users, clients, subscriptions, plants, floors, ambients, modules, spare parts.
    """

    added: dict[str, int]
    updated: dict[str, int]
    removed: dict[str, int]


class RecordChangeOut(OutputModel, frozen=True):
    """A record that the import would change. `fields` names the changed values of an updated record."""

    noun: str
    change: str
    id: str
    name: str
    fields: tuple[str, ...]


class EstateDifferenceOut(ImportSummaryOut, frozen=True):
    """The changes that an import would make: numbers by kind of record, and the first changes of each kind."""

    changes: tuple[RecordChangeOut, ...]


class EstateImportOut(ImportSummaryOut, frozen=True):
    """An import. `userId` is null if a `domogate` command did it. `hasDocument` is true while the imported document is kept."""

    number: int
    at: datetime
    user_id: str | None
    email: str | None
    prune: bool
    has_document: bool


@OPERATIONS.add(
    "GET /estate", "The content of the gateway as an estate file, without passwords and second factors", media_types=(YAML,)
)
async def export_estate(services: ManagementServices, call: OperatorCall) -> Response:
    pieces = await services.estate.export()
    services.people.note(AuditAction.ESTATE_EXPORTED, call.caller, "estate")
    return StreamingResponse(pieces, media_type=YAML, headers={"content-disposition": 'attachment; filename="estate.yaml"'})


@OPERATIONS.add("GET /estate/schema", "The JSON Schema of the estate file, for editors", media_types=(SCHEMA,))
async def get_estate_schema(services: ManagementServices, _call: OperatorCall) -> Response:
    return Response(services.estate.schema(), media_type=SCHEMA)


@OPERATIONS.add("POST /estate/check", "List the mistakes of a document; nothing is changed")
async def check_estate(services: ManagementServices, _call: OperatorCall, body: EstateDocument) -> EstateCheckOut:
    found = await services.estate.check(body.document)
    return EstateCheckOut(tuple(map(EstateProblemOut.of, found[:_MOST_PROBLEMS])), len(found))


@OPERATIONS.add(
    "POST /estate/difference",
    "Show what an import of the document would add, update and remove; nothing is changed",
    errors=(409, 422),
)
async def compare_estate(services: ManagementServices, call: OperatorCall, body: NewEstateImport) -> EstateDifferenceOut:
    found = await services.estate.find_difference(body.document, prune=body.prune, most=_MOST_CHANGES, by=call.caller.user_id)
    changes = [RecordChangeOut.of(one, fields=tuple(map(to_camel_case, one.fields))) for one in found.changes]
    return EstateDifferenceOut.of(found.summary, changes=tuple(changes))


@OPERATIONS.add("POST /estate/import", "Import a document; if it has mistakes, nothing is imported", errors=(409, 422))
async def import_estate(services: ManagementServices, call: OperatorCall, body: NewEstateImport) -> ImportSummaryOut:
    summary = await services.estate.import_document(body.document, prune=body.prune, by=call.caller.user_id)
    services.people.note(AuditAction.ESTATE_IMPORTED, call.caller, "estate", prune="yes" if body.prune else "no")
    return ImportSummaryOut.of(summary)


@OPERATIONS.add("GET /estate/imports", "The last imports; the newest is first")
async def list_estate_imports(services: ManagementServices, _call: OperatorCall, query: Page) -> Listing[EstateImportOut]:
    before = None if query.after is None else read_cursor(query.after)
    found = await services.store.list_imports(before, query.limit + 1)
    users = {record.user_id: await services.store.find_user(record.user_id) for record in found if record.user_id is not None}

    def out(record: ImportRecord) -> EstateImportOut:
        user = None if record.user_id is None else users[record.user_id]
        return EstateImportOut.of(record, record.summary, email=None if user is None else user.email)

    return first_page(found, query.limit, lambda record: str(record.number), out)


@OPERATIONS.add(
    "GET /estate/imports/{number}",
    "The document of an import, without password hashes and secrets of second factors; the gateway keeps the last 20 at most",
    media_types=(YAML,),
)
async def get_estate_import(services: ManagementServices, call: OperatorCall) -> Response:
    number = call.path["number"]
    document = await services.store.find_import_document(int(number)) if is_cursor(number) else None
    if document is None:
        raise NotFound("There is no such import, or its document is not kept any more.")
    return Response(document, media_type=YAML)
