"""docs/estate.md describes the format: its example is correct, and no key or word is missing."""

import json
import re
from pathlib import Path

from domogate.estate import read_estate, schema_text

DOCS = (Path(__file__).parents[2] / "docs" / "estate.md").read_text(encoding="utf-8")
SCHEMA = json.loads(schema_text())
DEFS = SCHEMA["$defs"]


def list_keys(schema: object) -> set[str]:
    """The keys of all objects that the schema describes, also of objects without a name in `$defs`."""
    if isinstance(schema, list):
        return {key for one in schema for key in list_keys(one)}
    if not isinstance(schema, dict):
        return set()
    own = schema.get("properties", {})
    return {*own, *(key for one in schema.values() for key in list_keys(one))}


def test_the_example_is_a_correct_estate() -> None:
    example = next(block for block in re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL) if block.startswith("users:"))
    assert read_estate(example, "docs/estate.md").estate.plants[0].plant.name == "Casa Bianchi"


def test_every_key_of_every_noun_is_told() -> None:
    keys = list_keys(SCHEMA)
    assert {"users", "spareParts", "quantity"} <= keys
    assert {key for key in keys if not re.search(rf"\b{key}\b", DOCS)} == set()


def test_every_word_but_the_failure_types_is_told() -> None:
    def words(schema: object) -> set[str]:
        if isinstance(schema, list):
            return set().union(*map(words, schema)) if schema else set()
        if not isinstance(schema, dict):
            return set()
        own = set(schema["enum"]) if isinstance(schema.get("enum"), list) else set()
        return own.union(*map(words, schema.values()))

    told = words({name: schema for name, schema in DEFS.items() if name != "failureType"})
    assert {word for word in told if word not in DOCS} == set()
