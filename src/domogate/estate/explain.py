"""Messages for violations of the schema. The library jsonschema finds the mistakes, and this module explains them."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from domogate.estate.mistakes import Path, did_you_mean, listed, quoted

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


class Finding(NamedTuple):
    """A mistake whose line is not known yet. If `at_key` is true, the key is wrong, not its value."""

    path: Path
    problem: str
    allowed: str = ""
    hint: str = ""
    at_key: bool = False


class Broken(NamedTuple):
    """A violated rule of the schema: the rule, its limit, and the value that violates it."""

    rule: str
    bound: Any
    value: Any
    schema: dict[str, Any]


_TYPE_NAMES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping (keys with values)",
}
_YES_OR_NO = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


def explain(error: "ValidationError", document: Any) -> Iterator[Finding]:
    path = tuple(error.absolute_path)
    schema = error.schema if isinstance(error.schema, dict) else {}
    broken = Broken(str(error.validator), error.validator_value, error.instance, schema)
    if broken.rule == "not":
        yield _not_of_this_kind(path, document)
    elif "propertyNames" in error.absolute_schema_path:
        key, allowed = broken.value, broken.bound
        problem = f"{quoted(key)} is not a parameter of this step"
        yield Finding((*path, key), problem, listed(allowed), did_you_mean(key, allowed), at_key=True)
    else:
        yield from _EXPLAINERS.get(broken.rule, _anything)(path, broken)


def _not_of_this_kind(path: Path, document: Any) -> Finding:
    module = document
    for step in path[:-1]:
        module = module[step]
    return Finding(path, f"a module of kind {quoted(module['kind'])} has no {quoted(path[-1])}", at_key=True)


def _type(path: Path, broken: Broken) -> Iterator[Finding]:
    bound, value = broken.bound, broken.value
    wanted = [bound] if isinstance(bound, str) else bound
    hint = ""
    if value is None:
        what = "there is no value here" if path else "the file is empty"
        hint = "Leave the key out, or write '' for an empty text" if "string" in wanted else ""
    elif isinstance(value, str):
        what = "this is text" if _is_secret(broken) else f"{quoted(value)} is text"
        meant = _YES_OR_NO.get(value.casefold(), value.casefold())
        if "boolean" in wanted and meant != value and meant in ("true", "false"):
            hint = f"Write {meant}"
        elif {"integer", "number", "boolean"} & set(wanted) and _would_fit(value, wanted):
            hint = "Write it without quotes"
    elif isinstance(value, list):
        what = "this is a list"
    elif isinstance(value, dict):
        what = "this is a mapping"
    else:
        what = f"{quoted(value)} is not {' or '.join(_TYPE_NAMES[name] for name in wanted)}"
    yield Finding(path, what, " or ".join(_TYPE_NAMES[name] for name in wanted), hint)


def _would_fit(text: str, wanted: list[str]) -> bool:
    if "boolean" in wanted:
        return text in ("true", "false")
    return text.removeprefix("-").replace(".", "", 1).isdecimal()


def _enum(path: Path, broken: Broken) -> Iterator[Finding]:
    problem = f"{quoted(broken.value)} is not {_a(broken)}"
    yield Finding(path, problem, listed(broken.bound), did_you_mean(broken.value, broken.bound))


def _pattern(path: Path, broken: Broken) -> Iterator[Finding]:
    subject = "this" if _is_secret(broken) else quoted(broken.value)
    yield Finding(path, f"{subject} is not {_a(broken)}", str(broken.schema.get("description", "")))


def _additional(path: Path, broken: Broken) -> Iterator[Finding]:
    known = list(broken.schema["properties"])
    for key in broken.value:
        if key not in known:
            problem = f"{quoted(key)} does not belong to {_a(broken)}"
            yield Finding((*path, key), problem, listed(known), did_you_mean(key, known), at_key=True)


def _required(path: Path, broken: Broken) -> Iterator[Finding]:
    known = broken.schema.get("properties", {})
    for key in broken.bound:
        if key not in broken.value:
            unknown = [given for given in broken.value if given not in known]
            mistyped = next((given for given in unknown if did_you_mean(key, [given])), None)
            problem = f"{key!r} is missing" + (f" ({quoted(mistyped)} may be meant for it)" if mistyped else "")
            hint = "`uuidgen` makes one" if key == "id" and mistyped is None else ""
            yield Finding(path, problem, hint=hint)


def _range(path: Path, broken: Broken) -> Iterator[Finding]:
    low, high = broken.schema.get("minimum"), broken.schema.get("maximum")
    allowed = f"{low} to {high}" if low is not None and high is not None else f"at least {low}"
    yield Finding(path, f"{quoted(broken.value)} is too {'small' if broken.rule == 'minimum' else 'large'}", allowed)


def _length(path: Path, broken: Broken) -> Iterator[Finding]:
    bound, many = broken.bound, isinstance(broken.value, list)
    thing = ("entry" if bound == 1 else "entries") if many else ("character" if bound == 1 else "characters")
    too, most = ("long", "at most") if broken.rule.startswith("max") else ("short", "at least")
    yield Finding(path, f"this is too {too} ({len(broken.value)})", f"{most} {bound} {thing}")


def _unique(path: Path, broken: Broken) -> Iterator[Finding]:
    for index, item in enumerate(broken.value):
        if item in broken.value[:index]:
            yield Finding((*path, index), f"{quoted(item)} is in this list twice")


def _is_empty(path: Path, broken: Broken) -> Iterator[Finding]:
    yield Finding(path, "the file is empty", listed(broken.schema["properties"]))


def _anything(path: Path, broken: Broken) -> Iterator[Finding]:
    yield Finding(path, f"this is not {_a(broken)}")


def _is_secret(broken: Broken) -> bool:
    return bool(broken.schema.get("writeOnly"))


def _a(broken: Broken) -> str:
    """Return the schema's title for use inside a sentence: 'Kind of module' becomes 'a kind of module'."""
    title = str(broken.schema.get("title", "valid value"))
    if not title[1:2].isupper():
        title = title[0].lower() + title[1:]
    return f"{'an' if title[0] in 'aeioAEIO' else 'a'} {title}"


_EXPLAINERS: dict[str, Callable[[Path, Broken], Iterator[Finding]]] = {
    "type": _type,
    "enum": _enum,
    "pattern": _pattern,
    "format": _pattern,
    "additionalProperties": _additional,
    "required": _required,
    "minimum": _range,
    "maximum": _range,
    "minLength": _length,
    "maxLength": _length,
    "minItems": _length,
    "maxItems": _length,
    "uniqueItems": _unique,
    "minProperties": _is_empty,
}
