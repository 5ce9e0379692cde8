"""What a driver declares about itself: its name, its settings, the check of module options, and how it is built."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Generic, NamedTuple, Protocol, TypeVar, get_args, get_origin

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.ports import Clock, Driver

OptionProblem = tuple[tuple[str | int, ...], str]
"""The path inside a module's options, and what is wrong there."""
OptionCheck = Callable[[DeviceKind, Mapping[str, Any]], Iterator[OptionProblem]]


class DriverSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Base of a driver's settings. The field `seed` of the driver `simulator` is the setting `simulator_seed`.

    Each field has a default and is annotated with its `Setting`.
    """


class Setting(msgspec.Struct, frozen=True):
    """How one setting is shown and checked; its type and its default come from the field."""

    metavar: str
    help: str
    check: Callable[[Any], Any] | None = None
    """Returns the value, or raises ValueError that says what is allowed."""
    short_flag: str | None = None
    bare_flag: bool = False
    """The flag has no value: it means true."""
    secret: bool = False
    """It may hold a password: messages do not repeat it."""
    panel: str = "Devices"
    """The heading in --help and in docs/settings.md."""


class DeclaredSetting(NamedTuple):
    """A setting under its full name."""

    name: str
    field: str
    type: Any
    default: Any
    setting: Setting


S = TypeVar("S", bound=DriverSettings)


class Connections(msgspec.Struct, Generic[S], frozen=True):
    """The settings name connections, such as brokers, and each module names one of them in an option."""

    option: str
    names: Callable[[S], Sequence[str]]

    def find_problems(self, settings: S, options: Mapping[str, Any]) -> Iterator[OptionProblem]:
        """Nothing is known to be wrong if the settings have no connection: they may be those of another machine."""
        names, wanted = self.names(settings), options.get(self.option)
        if wanted is None and len(names) > 1:
            yield (), f"the option {self.option} is missing; there are {', '.join(names)}"
        if names and isinstance(wanted, str) and wanted not in names:
            yield (self.option,), f"the settings have no {self.option} {wanted!r}; there are {', '.join(names)}"


class DriverDeclaration(msgspec.Struct, Generic[S], frozen=True):
    """Everything the rest of the gateway knows about a driver."""

    name: str
    settings: type[S]
    build: Callable[[Clock, S], Driver]
    find_option_problems: OptionCheck
    connections: Connections[S] | None = None

    def check_options(self, settings: S) -> OptionCheck:
        """The check of a module's options, with the connections that the settings name."""

        def check(kind: DeviceKind, options: Mapping[str, Any]) -> Iterator[OptionProblem]:
            yield from self.find_option_problems(kind, options)
            if self.connections is not None:
                yield from self.connections.find_problems(settings, options)

        return check

    def list_settings(self) -> Iterator[DeclaredSetting]:
        for field in msgspec.structs.fields(self.settings):
            assert get_origin(field.type) is Annotated, f"{self.name}: the setting {field.name} is not annotated"
            kind, setting = get_args(field.type)
            yield DeclaredSetting(f"{self.name.replace('-', '_')}_{field.name}", field.name, kind, field.default, setting)

    def settings_in(self, every: Mapping[str, DriverSettings]) -> S:
        """The settings of this driver; the defaults when it has none there."""
        mine = every.get(self.name, self.settings())
        assert isinstance(mine, self.settings)
        return mine


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def unique_names(entries: Sequence[_Named]) -> Sequence[_Named]:
    """Modules refer to an entry of such a list by its name."""
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        raise ValueError("each needs a name of its own, by which modules call it")
    return entries
