"""Small estate files with mistakes, and the messages about them."""

import pytest

from domogate.estate import EstateMistakes, Mistake, read_estate
from domogate.estate.checks import Drivers

HEAD = """\
users: [{email: anna@example.com, password: anna-lights-the-lamp},
  {email: bruno@example.com}]
plants:
  - id: ca5a0001-0000-4000-8000-000000000000
    name: Casa
    type: house
    driver: simulator
    owner: anna@example.com
"""
LAMP = "ca5a0001-0001-4000-8000-000000000001"
OTHER = "ca5a0001-0001-4000-8000-000000000002"


def mistakes(text: str, *, drivers: Drivers | None = None) -> list[Mistake]:
    with pytest.raises(EstateMistakes) as caught:
        read_estate(text, "estate.yaml", drivers=drivers)
    return list(caught.value.mistakes)


def the_mistake(text: str, *, drivers: Drivers | None = None) -> Mistake:
    found = mistakes(text, drivers=drivers)
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]


def house(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines)


def modules(*records: str) -> str:
    return house("modules:", *(f"  - {{{record}}}" for record in records))


def module(record: str) -> str:
    return modules(f"id: {LAMP}, name: M, {record}")
