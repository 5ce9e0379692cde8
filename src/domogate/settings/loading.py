"""Builds Settings from flags, DOMOGATE_* variables, a TOML file and systemd credentials. A wrong value stops the start."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.drivers import SETTINGS, make_settings
from domogate.settings.declared import DECLARED, FILES, SECRETS, name_credential
from domogate.settings.rules import KIND_OF_VALUE, OPERATION_OR_FAMILY, TABLES, Wrong
from domogate.settings.values import Settings

# --- mistakes ---------------------------------------------------------------------------------------------------------


class Mistake(msgspec.Struct, frozen=True):
    """One wrong setting: its name, its source, and a text that says what is wrong."""

    setting: str
    source: str
    problem: str

    def __str__(self) -> str:
        return f"{self.setting} ({self.source}): {self.problem}"


class BadSettings(Exception):
    """The settings are wrong, so the command does not start. The message lists every mistake."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(map(str, self.mistakes)))


class _Given(NamedTuple):
    value: object
    source: str
    from_text: bool


# --- loading ----------------------------------------------------------------------------------------------------------


def load_settings(
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    file: Path | None = None,
    *,
    list_sunset_names: Callable[[], Collection[str]] | None = None,
    serving: bool = True,
) -> Settings:
    """Return the settings.

    The order of precedence is: flag, DOMOGATE_* variable, TOML file, systemd credential, default. Each of them overrides those
    after it.

    A flag that is None and an empty variable count as not given. If `file` is None, the variable DOMOGATE_CONFIG may name a
    file. Files that only a running gateway uses are checked only if `serving` is true. `list_sunset_names` returns the names of
    families and operations that the setting `sunset` may contain. Raises BadSettings with all mistakes.
    """
    mistakes: list[Mistake] = []
    types = {name: one.type for name, one in DECLARED.items()} | dict.fromkeys(FILES, Path)
    file = file or (Path(environ[_FILE_VARIABLE]) if environ.get(_FILE_VARIABLE) else None)
    given = {
        **_read_secrets(_from_credentials(environ), mistakes),
        **_read_secrets(_from_file(file, types, mistakes) if file is not None else {}, mistakes),
        **_read_secrets(_from_environ(environ, types, mistakes), mistakes),
        **_read_secrets(_from_flags(flags, types, mistakes), mistakes),
    }
    if "secret_key" in given and given.get("secret_key_file", _NOTHING).source.startswith(_CREDENTIAL):
        del given["secret_key_file"]
    values: dict[str, Any] = {}
    for name, (value, source, from_text) in given.items():
        try:
            converted = _convert(value, types[name], from_text)
            setting = DECLARED[name].setting
            check = setting.check if serving or not setting.only_served else None
            values[name] = converted if check is None else check(converted)
            if name == "sunset":
                _check_sunset_names(values[name], None if list_sunset_names is None else list_sunset_names())
        except ValueError as wrong:
            shown = "" if DECLARED[name].setting.secret else f"{_shorten(value)} was given; "
            mistakes.append(Mistake(name, source, f"{shown}{wrong}."))
    mistakes += _check_together(values, given)
    drivers = make_settings(values)
    for driver, settings in drivers.items():
        for field, problem in settings.find_contradictions():
            name = f"{driver}_{field}"
            mistakes.append(Mistake(name, given[name].source, problem))
    if mistakes:
        raise BadSettings(mistakes)
    own = {name: value for name, value in values.items() if name not in SETTINGS}
    return Settings(**own, drivers=drivers, sources={name: one.source for name, one in given.items()})


_PREFIX = "DOMOGATE_"
_FILE_VARIABLE = "DOMOGATE_CONFIG"
_NO_SETTINGS = frozenset(
    (_FILE_VARIABLE, "DOMOGATE_TRACEBACK", "DOMOGATE_PYTHON", "DOMOGATE_TEST_PROCESSES", "DOMOGATE_PROCESS")
)
"""Variables that are allowed although they are not settings. The command line, the gateway processes or ./dev read them.

Any other variable that begins with DOMOGATE_ and is not a setting is a mistake.
"""
_MAX_SECRET = 1 << 20
_CREDENTIAL = "systemd credential"
_NOTHING = _Given(None, "", from_text=False)


def _is_every_address(host: str) -> bool:
    """Whether the host means every IP address of the machine, for example 0.0.0.0."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def _from_flags(flags: Mapping[str, object], types: Mapping[str, Any], mistakes: list[Mistake]) -> dict[str, _Given]:
    given: dict[str, _Given] = {}
    for flag, value in flags.items():
        name, source = flag.lstrip("-").replace("-", "_"), f"flag --{flag.lstrip('-').replace('_', '-')}"
        if name not in types:
            mistakes.append(Mistake(name, source, f"there is no such setting{_nearest(name, types)}."))
        elif value is not None:
            given[name] = _Given(value, source, isinstance(value, str))
            if name in DECLARED and DECLARED[name].setting.secret and has_password(value):
                others = f"{source.removeprefix('flag ')}-file FILE, or the variable {_PREFIX}{name.upper()}"
                mistakes.append(Mistake(name, source, f"everybody on this machine can read a password there: use {others}."))
    return given


def _from_environ(environ: Mapping[str, str], types: Mapping[str, Any], mistakes: list[Mistake]) -> dict[str, _Given]:
    given: dict[str, _Given] = {}
    for variable, text in environ.items():
        if not variable.startswith(_PREFIX) or variable in _NO_SETTINGS:
            continue
        name, source = variable.removeprefix(_PREFIX).lower(), f"variable {variable}"
        if name not in types or variable != variable.upper():
            hint = _nearest(name, types, lambda found: _PREFIX + found.upper())
            mistakes.append(Mistake(name, source, f"there is no such setting{hint}."))
        elif text:
            given[name] = _Given(text, source, from_text=True)
    return given


def _from_file(file: Path, types: Mapping[str, Any], mistakes: list[Mistake]) -> dict[str, _Given]:
    import tomllib  # Imported here, because most commands have no file.

    try:
        text = file.read_text("utf-8")
        document = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        mistakes.append(Mistake("config", f"file {file}", f"it cannot be read as TOML: {reason}."))
        return {}
    given: dict[str, _Given] = {}
    for name, value in document.items():
        source = f"{file.name}{_line_of(name, text)}"
        if name not in types:
            mistakes.append(Mistake(name, source, f"there is no such setting{_nearest(name, types)}."))
        else:
            given[name] = _Given(value, source, from_text=False)
    return given


def has_password(value: object) -> bool:
    return bool(re.search(r"://[^/?#@]*:[^/?#]*@|[?&](ssl)?password=", str(value)))


def _from_credentials(environ: Mapping[str, str]) -> dict[str, _Given]:
    """For each secret that systemd provides as a credential, return the setting that names the file of this credential.

    For example, `smtp_password_file` names the file `domogate-smtp-password`.
    """
    if not (folder := environ.get("CREDENTIALS_DIRECTORY")):
        return {}
    files = {name: Path(folder, name_credential(secret)) for name, secret in SECRETS.items()}
    return {name: _Given(path, f"{_CREDENTIAL} {path.name}", False) for name, path in files.items() if path.is_file()}


def _read_secrets(given: dict[str, _Given], mistakes: list[Mistake]) -> dict[str, _Given]:
    """For each setting that names the file of a secret, read the file, and set the secret to its content.

    Line ends at the end of the content are removed. The result does not have the setting that names the file.
    """
    for name in [name for name in FILES if name in given]:
        value, source, _ = given.pop(name)
        if FILES[name] in given:
            mistakes.append(Mistake(name, source, f"{FILES[name]} ({given[FILES[name]].source}) is given too; give only one."))
            continue
        try:
            with _convert(value, Path, from_text=False).open("rb") as file:
                text = file.read(_MAX_SECRET).decode("utf-8").rstrip("\r\n")
        except Wrong as wrong:
            mistakes.append(Mistake(name, source, f"{_shorten(value)} was given; {wrong}."))
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            mistakes.append(Mistake(name, source, f"{_shorten(value)} was given; the file cannot be read: {reason}."))
        else:
            given[FILES[name]] = _Given(text, source, from_text=True)
    return given


def _convert(value: object, kind: Any, from_text: bool) -> Any:
    """Return the value in the type of the setting. Text from a flag or variable is parsed. Raises Wrong if it does not fit."""
    if isinstance(value, str) and re.search(r"[\x00-\x1f\x7f]", value):
        raise Wrong("control characters are not allowed")
    if kind is Path:
        if not isinstance(value, str | Path) or not str(value):
            raise Wrong("a path is allowed")
        return Path(value)
    if from_text and isinstance(value, str):
        value = _read_text(value.strip(), kind)
    elif isinstance(value, dict):
        value = {name: item.isoformat() if type(item) is date else item for name, item in value.items()}
    if kind == dict[DeviceKind, float] and isinstance(value, dict):
        value = {str(name).replace("_", " "): age for name, age in value.items()}
    try:
        converted = msgspec.convert(value, kind, strict=not from_text)
    except (msgspec.ValidationError, OverflowError) as error:
        if kind in TABLES:
            raise Wrong(_name_fields(str(error), kind) or f"{KIND_OF_VALUE[kind]} is allowed: {error}") from None
        raise Wrong(f"{KIND_OF_VALUE[kind]} is allowed{_kinds_hint(kind)}") from None
    if kind == dict[str, str]:
        _check_dates(converted)
    return converted


def _name_fields(message: str, kind: Any) -> str | None:
    """Return the text of the mistake if an entry of a table has an unknown field. The text lists the known fields.

    `message` is the message of msgspec. Return None if this message is about something else.
    """
    if (unknown := re.match(r"Object contains unknown field `(\w+)` - at `\$\[[.\d]+\]`$", message)) is None:
        return None
    fields = msgspec.structs.fields(get_args(kind)[0])
    return f"{unknown[1]} is not known; use {', '.join(field.encode_name for field in fields)}"


def _read_text(text: str, kind: Any) -> object:
    if kind in TABLES:
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            raise Wrong(f"a JSON list of {TABLES[kind]} is allowed") from None
    if kind == tuple[str, ...]:
        return [part.strip() for part in text.split(",") if part.strip()]
    if get_origin(kind) is dict:
        pairs = [part.partition("=") for part in text.split(",") if part.strip()]
        if not all(equals for _, equals, _ in pairs):
            raise Wrong("pairs are allowed, such as name=value,other=value")
        names = [name.strip() for name, _, _ in pairs]
        if len(set(names)) < len(names):
            raise Wrong("each name is allowed once")
        return {name.strip(): item.strip() for name, _, item in pairs}
    return text


def _check_dates(dates: Mapping[str, str]) -> None:
    for name, day in dates.items():
        try:
            if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", day):
                raise ValueError
            date.fromisoformat(day)
        except ValueError:
            raise Wrong(f"{name}: a date is allowed, such as 2027-06-30") from None


def _check_sunset_names(dates: Mapping[str, str], names: Collection[str] | None) -> None:
    for name in dates:
        if names is None:
            if not OPERATION_OR_FAMILY.fullmatch(name):
                raise Wrong(f"{name!r} is neither an operation (E1 to E20, X1 to X9) nor a family")
        elif name not in names:
            raise Wrong(f"{name!r} is neither an operation nor a family{_nearest(name, names)}")


def _check_together(values: Mapping[str, Any], given: Mapping[str, _Given]) -> Iterator[Mistake]:
    for one, other in (("tls_certificate", "tls_key"), ("tls_key", "tls_certificate")):
        if one in given and other not in given:
            yield Mistake(one, given[one].source, f"{other} is missing; set both the certificate and its key, or neither.")
    if "secret_key" in given and "secret_key_file" in given:
        source = given["secret_key"].source
        yield Mistake("secret_key", source, f"secret_key_file ({given['secret_key_file'].source}) is given too; give only one.")
    if "terms_file" in given and "terms_url" in given:
        source = given["terms_file"].source
        yield Mistake("terms_file", source, f"terms_url ({given['terms_url'].source}) is given too; give only one.")
    for name in ("backup_keep", "backup_folder"):
        if name in given and "backup_every" not in given:
            yield Mistake(name, given[name].source, "it has no effect, because backup_every is not set.")
    port, metrics_port = values.get("port", 8080), values.get("metrics_port")
    host, metrics_host = values.get("host", "127.0.0.1"), values.get("metrics_host", "127.0.0.1")
    if (
        metrics_port
        and metrics_port == port
        and (host == metrics_host or _is_every_address(host) or _is_every_address(metrics_host))
    ):
        source = given["metrics_port"].source
        yield Mistake("metrics_port", source, f"{port} is the port of the API; /metrics needs another port.")
    streams, connections = values.get("streams_most", 5_000), values.get("connections_most", 6_000)
    if streams > connections:
        name = "connections_most" if "connections_most" in given else "streams_most"
        yield Mistake(
            name,
            given[name].source,
            f"streams_most ({streams}) must not be more than connections_most ({connections}): each stream is a connection.",
        )
    given_up, kept = values.get("webhook_given_up_days", 3.0), values.get("changes_kept_days", 7.0)
    if given_up >= kept:
        name = "webhook_given_up_days" if "webhook_given_up_days" in given else "changes_kept_days"
        yield Mistake(
            name,
            given[name].source,
            f"webhook_given_up_days ({given_up:g}) must be less than changes_kept_days ({kept:g}):"
            " a deleted event cannot be delivered.",
        )


def _kinds_hint(kind: Any) -> str:
    return f" ({', '.join(DeviceKind)})" if kind == dict[DeviceKind, float] else ""


def _nearest(name: str, names: Collection[str], spell: Callable[[str], str] = str) -> str:
    from difflib import get_close_matches  # Imported here, because only mistakes need it.

    found = get_close_matches(name, names, n=1)
    return f"; did you mean {spell(found[0])}" if found else ""


def _line_of(name: str, text: str) -> str:
    spelled = rf"[\"']?{re.escape(name)}[\"']?"
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(rf"\s*(?:{spelled}\s*[=.]|\[+\s*{spelled}\s*[\].])", line):
            return f" line {number}"
    return ""


def _shorten(value: object) -> str:
    text = repr(str(value)) if isinstance(value, Path) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
