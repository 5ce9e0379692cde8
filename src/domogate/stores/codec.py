"""Converts values to JSON text for columns, and structs to rows. Also converts both back."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Row

from domogate.domain.commands import Command, Order, OrderRecord, OrderState
from domogate.domain.devices import Capability, Metric
from domogate.domain.events import ChangesLost, Event
from domogate.domain.limits import Limits
from domogate.domain.people import GrantType
from domogate.domain.plants import Detail
from domogate.domain.reachability import Absence
from domogate.domain.safety import EmergencyTest, SparePart
from domogate.domain.states import State
from domogate.ports import ImportSummary

S = TypeVar("S", bound=msgspec.Struct)

# The output is always the same for the same value, so an import can compare texts.
_encode = msgspec.json.Encoder(order="deterministic").encode

NUL = "\0"
"""PostgreSQL refuses text with this character, even as a parameter of a search."""


def to_json(value: Any) -> str:
    return _encode(value).decode()


def to_json_or_none(value: Any) -> str | None:
    return None if value is None else _encode(value).decode()


decode_state = msgspec.json.Decoder[State](State).decode
decode_absence = msgspec.json.Decoder(Absence).decode
decode_command = msgspec.json.Decoder[Command](Command).decode
_decode_event: Callable[[str], Event] = msgspec.json.Decoder[Event](Event).decode
decode_detail = msgspec.json.Decoder[Detail](Detail).decode
decode_metrics = msgspec.json.Decoder(tuple[Metric, ...]).decode
decode_capabilities = msgspec.json.Decoder(tuple[Capability, ...]).decode
decode_options = msgspec.json.Decoder(dict[str, Any]).decode
decode_text = msgspec.json.Decoder(str).decode
decode_texts = msgspec.json.Decoder(tuple[str, ...]).decode
decode_grant_types = msgspec.json.Decoder(tuple[GrantType, ...]).decode
decode_test = msgspec.json.Decoder(EmergencyTest).decode
decode_limits = msgspec.json.Decoder(Limits).decode
decode_summary = msgspec.json.Decoder(ImportSummary).decode
decode_parts = msgspec.json.Decoder(tuple[SparePart, ...]).decode


def decode_event(text: str) -> Event:
    """Return the stored event. Return ChangesLost for an event that only a newer version knows.

    During an upgrade, a gateway of the newer version may write to the same database. This gateway does not know what such an
    event changes. So it forgets its data in memory, and reads the data from the store again.
    """
    try:
        return _decode_event(text)
    except msgspec.ValidationError:
        return ChangesLost()


def to_row(value: msgspec.Struct, /, **stored: Any) -> dict[str, Any]:
    """Return the fields of the struct as a row: a dict from the names of columns to values.

    `stored` has values that replace the fields with the same names, and values for columns that are not fields.
    """
    return msgspec.structs.asdict(value) | stored


def from_row(kind: type[S], row: Row[Any], /, **read: Any) -> S:
    """Make a struct from the columns that have the same names as its fields.

    A field that is in `read` gets its value from `read`, not from a column.
    """
    return from_columns(kind, row._mapping, **read)


def from_columns(kind: type[S], columns: Mapping[Any, Any], /, **read: Any) -> S:
    """Make a struct from a mapping. Each field gets the value of the column with its name.

    A field that is in `read` gets its value from `read`, not from a column.
    """
    return kind(**{name: columns[name] for name in kind.__struct_fields__ if name not in read}, **read)


def storable(words: str) -> str:
    """Replace the characters that PostgreSQL refuses, and return the new text.

    Texts of devices and receivers may contain any character.
    """
    return words.encode("utf-8", "replace").decode().replace(NUL, "\N{REPLACEMENT CHARACTER}")


def order_to_row(record: OrderRecord, command: str) -> tuple[Any, ...]:
    order = record.order
    return (
        order.id,
        order.plant_id,
        order.module_id,
        command,
        order.deadline,
        str(record.state),  # `value` is a property that is written in Python.
        record.queued_at,
        record.sent_at,
        record.ended_at,
        record.problem,
        order.user_id,
    )


def order_from_row(row: Iterable[Any]) -> OrderRecord:
    """Make the record of an order from its row. `row` has all columns of the table `orders`, in the order of the table."""
    order_id, plant_id, module_id, command, deadline, state, queued_at, sent_at, ended_at, problem, user_id = row
    order = Order(order_id, plant_id, module_id, decode_command(command), deadline, user_id)
    return OrderRecord(order, OrderState(state), queued_at, sent_at, ended_at, problem)
