"""The declaration of a driver: its name, its settings, the check of module options, and how the driver is built."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any, Generic, NamedTuple, Protocol, TypeVar, get_args, get_origin

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.domain.discovery import Discovery
from domogate.ports import Clock, Driver

OptionProblem = tuple[tuple[str | int, ...], str]
"""The path inside a module's options, and the problem at this path."""
OptionSchema = dict[str, Any]
"""A JSON Schema of a module's options, from which forms are made. The `OptionCheck` of the driver is stricter."""
OptionCheck = Callable[[DeviceKind, Mapping[str, Any]], Iterator[OptionProblem]]


def lazy(module: str, name: str) -> Callable[..., Any]:
    """Return a function that calls the function `name` of the module `module`. Each call first imports this module.

    So a driver can be declared without importing its code (Decision 0098).
    """

    def call(*arguments: Any) -> Any:
        return getattr(import_module(module), name)(*arguments)

    return call


def inside(problems: Iterable[OptionProblem], *outer: str | int) -> Iterator[OptionProblem]:
    """Yield the problems of a nested value, with `outer` as the start of their paths."""
    return (((*outer, *path), words) for path, words in problems)


class DriverSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Base of a driver's settings.

    The full name of a setting begins with the name of the driver. For example, the field `seed` of the driver `simulator` is
    the setting `simulator_seed`. Each field has a default and is annotated with its `Setting`.
    """

    def find_contradictions(self) -> Iterator[tuple[str, str]]:
        """Yield the name of a field and a description of the problem, for each value that contradicts another value."""
        yield from ()


class Setting(msgspec.Struct, frozen=True):
    """The declaration of a setting: how it is shown and checked.

    The type and the default of the setting are those of the field that is annotated with it (see `DriverSettings`).
    """

    metavar: str
    help: str
    check: Callable[[Any], Any] | None = None
    """Checks the value and returns it. Raises ValueError if the value is not allowed; the message says what is allowed."""
    short_flag: str | None = None
    bare_flag: bool = False
    """If true, the flag of this setting has no value. If the flag is given, the setting is true."""
    secret: bool = False
    """If true, the value may contain a password, so messages do not repeat the value."""
    only_served: bool = False
    """If true, only a running gateway uses the value.

    Only commands that start a gateway check the value. For example, the value is the path of a file. This file may be missing
    on a machine where only other commands run.
    """
    panel: str = "Devices"
    """The heading under which --help and docs/settings.md list the setting."""


class DeclaredSetting(NamedTuple):
    """A declared setting with its full name, such as `simulator_seed`."""

    name: str
    field: str
    type: Any
    default: Any
    setting: Setting


S = TypeVar("S", bound=DriverSettings)


class Connections(msgspec.Struct, Generic[S], frozen=True):
    """How a driver uses connections, such as brokers. The settings of the driver list these connections.

    Each module names one of these connections in an option. If there is only one connection, the option may be missing.
    """

    option: str
    names: Callable[[S], Sequence[str]]
    build: Callable[[str, str | None, str | None], S] | None = None
    """Builds settings with one connection, from its URL, user name and password. Raises ValueError if one of them is wrong.

    The field is None if operators cannot set a connection in the console.
    """

    def find_problems(self, settings: S, options: Mapping[str, Any]) -> Iterator[OptionProblem]:
        """Yield a problem if the option `self.option` of a module names a connection that is not in the settings.

        Also yield a problem if the option is missing and the settings list several connections. If the settings list no
        connection, yield nothing: the estate file may be for another machine.
        """
        names, wanted = self.names(settings), options.get(self.option)
        if wanted is None and len(names) > 1:
            yield (), f"the option {self.option} is missing; there are {', '.join(names)}"
        if names and isinstance(wanted, str) and wanted not in names:
            yield (self.option,), f"the settings have no {self.option} {wanted!r}; there are {', '.join(names)}"


class DriverDeclaration(msgspec.Struct, Generic[S], frozen=True):
    """All facts about a driver that the rest of the gateway uses."""

    name: str
    settings: type[S]
    build: Callable[[Clock, S], Driver]
    find_option_problems: OptionCheck
    connections: Connections[S] | None = None
    describe_options: Callable[[DeviceKind], OptionSchema | None] = lambda _: {"type": "object"}
    """Returns the JSON Schema of a module's options, or None if the driver cannot drive modules of this kind."""
    discover: Callable[[S, str | None, float, str | None], Awaitable[Discovery]] | None = None
    """Searches for devices. The arguments are the settings, the name of a connection, the seconds to listen, and a base topic.

    Raises DiscoveryFailed if the search fails. The field is None if the driver cannot search for devices.
    """
    separate: Callable[[S], S] = lambda settings: settings
    """Returns the settings for one gateway of a cluster.

    All gateways of a cluster have the same settings. But some values may be used by only one gateway. For example, a broker
    accepts only one connection with the same client id. This function gives each gateway its own value.
    """
    simulated: bool = False
    """If true, the devices do not exist: states and readings of the driver's modules are marked as simulated everywhere."""

    def check_options(self, settings: S) -> OptionCheck:
        """Return the function that checks a module's options.

        It also checks the name of the broker or OpenWebNet gateway in the options (see `Connections.find_problems`).
        """

        def check(kind: DeviceKind, options: Mapping[str, Any]) -> Iterator[OptionProblem]:
            yield from self.find_option_problems(kind, options)
            if self.connections is not None:
                yield from self.connections.find_problems(settings, options)

        return check

    def options_schema(self, kind: DeviceKind, settings: S) -> OptionSchema | None:
        """Return the JSON Schema of the options of a module of this kind.

        Return None if the driver does not drive this kind.

        The schema lists the names of the brokers or OpenWebNet gateways in the settings.
        """
        schema = self.describe_options(kind)
        if schema is not None and self.connections is not None and (names := self.connections.names(settings)):
            for part in (schema, *schema.get("$defs", {}).values(), *schema.get("anyOf", ())):
                if self.connections.option in part.get("properties", {}):
                    part["properties"][self.connections.option] = {"type": "string", "enum": list(names)}
        return schema

    def list_settings(self) -> Iterator[DeclaredSetting]:
        for field in msgspec.structs.fields(self.settings):
            assert get_origin(field.type) is Annotated, f"{self.name}: the setting {field.name} is not annotated"
            kind, setting = get_args(field.type)
            yield DeclaredSetting(f"{self.name.replace('-', '_')}_{field.name}", field.name, kind, field.default, setting)

    def settings_in(self, every: Mapping[str, DriverSettings]) -> S:
        """Return the settings of this driver in `every`, or the defaults if `every` has no entry for this driver."""
        mine = every.get(self.name, self.settings())
        assert isinstance(mine, self.settings)
        return mine


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def connections_setting(help: str) -> Setting:
    """Declare the setting that lists the connections of a driver. It is secret: a connection may have a password."""
    return Setting("JSON", help, _check_names, secret=True)


def _check_names(entries: Sequence[_Named]) -> Sequence[_Named]:
    """Return the entries. Raises ValueError if two entries have the same name: modules refer to an entry by its name."""
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        raise ValueError("each entry needs a different name, because modules refer to it by name")
    return entries
