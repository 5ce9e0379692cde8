"""The parts that all commands share: settings, the event loop, the store, and how errors are reported.

Exit codes: 0 success; 1 failure, and standard error says why; 2 the command line or a setting is wrong; 130 interrupted
(Ctrl-C).
"""

import asyncio
import gc
import inspect
import os
import select
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_type_hints

import click
import msgspec

from domogate.cli._flags import WHERE, flag_parameters
from domogate.cli._help import PlainCommand, PlainGroup
from domogate.cli._options import build_parameter, flag, read_arguments
from domogate.cli._output import note
from domogate.cli._owner import refuse_root
from domogate.common.owners import describe_denied
from domogate.ports import Store
from domogate.services.refusals import Refused
from domogate.settings import BadSettings, Settings, load_settings

if TYPE_CHECKING:
    from domogate.app import Tools

FAILED, WRONG_USAGE, INTERRUPTED = 1, 2, 130
SILENT_FOR, APPLIED_WITHIN = 5.0, 30.0
"""A command waits until running gateways have applied its change. After `SILENT_FOR` seconds, it prints that it waits. After
`APPLIED_WITHIN` seconds, it fails.

`APPLIED_WITHIN` is longer than the time for which a killed gateway counts as running. So a killed gateway does not make the
command fail.
"""

TRACEBACK = "DOMOGATE_TRACEBACK"


class Mistake(Exception):
    """The command stops with exit code 1, because of an error that the user can fix. The message says how."""


class WrongUsage(Exception):
    """The command stops with exit code 2, because an argument is wrong or missing. The message says what to write."""


Yes = Annotated[bool, flag("--yes", "Do not ask for confirmation.")]

Body = Callable[..., Awaitable[None]]
LoopFactory = Callable[[], asyncio.AbstractEventLoop]
LoopChoice = Callable[[Mapping[str, Any]], LoopFactory | None]


def group(name: str, cls: type[PlainGroup] = PlainGroup) -> PlainGroup:
    """Return a new group for the commands of one noun: `domogate NAME …`. The text about the noun is in `commands.py`."""
    return cls(name, no_args_is_help=True)


def top_level() -> PlainGroup:
    """Return a new group for commands without a noun: `domogate COMMAND`."""
    return PlainGroup()


class FlagGroup(msgspec.Struct, frozen=True):
    """Base class of flags that several commands share.

    A parameter of a command may have a subclass of this class as its type. Then each field of the subclass becomes a flag of
    the command.
    """

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        hints, kind = get_type_hints(cls, include_extras=True), inspect.Parameter.POSITIONAL_OR_KEYWORD
        return [inspect.Parameter(name, kind, default=None, annotation=hints[name]) for name in cls.__struct_fields__]


def command(
    group: PlainGroup, name: str, *, flags: Sequence[str] = WHERE, loop: LoopChoice | None = None
) -> Callable[[Body], Body]:
    """Register an async function as the command `name` of the group.

    The first parameter of the function gets the Settings. The other parameters become options and arguments of the command.
    The settings in `flags`, and --config, become options too.

    `loop` is a function that gets the arguments of the command. It returns a function that makes the event loop. If the command
    needs only the usual event loop, `loop` returns None.

    The registered function may have a parameter `given`. This parameter gets the names of the settings that a flag or an
    environment variable sets.
    """

    def register(body: Body) -> Body:
        own = list(inspect.signature(body, eval_str=True).parameters.values())[1:]
        wants_given = any(parameter.name == "given" for parameter in own)
        groups = {
            one.name: one.annotation for one in own if inspect.isclass(one.annotation) and issubclass(one.annotation, FlagGroup)
        }

        @click.pass_context
        def run(context: click.Context, /, **values: Any) -> None:
            arguments = read_arguments(values)
            chosen = {flag: arguments.pop(flag) for flag in (*flags, "config")}
            # A flag before the command's name is overridden by the same flag after it.
            before = {name: value for name, value in context.find_root().params.items() if name in ("data", "config")}
            chosen = {**before, **{flag: text for flag, text in chosen.items() if text is not None}}
            for name, kind in groups.items():
                arguments[name] = kind(**{field: arguments.pop(field) for field in kind.__struct_fields__})
            if wants_given:
                arguments["given"] = _given(chosen, os.environ)
            serving = "tls_certificate" in flags
            factory = None if loop is None else loop(arguments)
            run_to_end(
                lambda: body(_settings(chosen, os.environ, serving=serving), **arguments), serving=serving, loop_factory=factory
            )

        every: list[inspect.Parameter] = []
        for one in own:
            every += groups[one.name].parameters() if one.name in groups else [one] if one.name != "given" else []
        _add(group, name, body, run, [*every, *flag_parameters(flags)])
        return body

    return register


def plain_command(group: PlainGroup, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as the command `name` of the group. The function needs neither settings nor an event loop."""

    def register(body: Callable[..., None]) -> Callable[..., None]:
        _add(group, name, body, body, inspect.signature(body, eval_str=True).parameters.values())
        return body

    return register


def _add(
    group: PlainGroup,
    name: str,
    body: Callable[..., object],
    run: Callable[..., object],
    parameters: Iterable[inspect.Parameter],
) -> None:
    help = inspect.cleandoc(body.__doc__ or "")
    group.add_command(PlainCommand(name, params=[build_parameter(one) for one in parameters], callback=run, help=help))


def _settings(chosen: dict[str, Any], environ: Mapping[str, str], *, serving: bool) -> Settings:
    """Return the settings. A flag overrides an environment variable, and an environment variable overrides the file."""
    flags = {name: text for name, text in chosen.items() if name != "config"}
    config = None if chosen["config"] is None else Path(chosen["config"])
    return load_settings(flags, environ, config, list_sunset_names=_list_sunset_names, serving=serving)


def _list_sunset_names() -> set[str]:
    from domogate.families import FAMILIES  # Only the setting `sunset` needs them.

    return {family.slug for family in FAMILIES} | {operation.id for family in FAMILIES for operation in family.operations}


def _given(chosen: dict[str, Any], environ: Mapping[str, str]) -> frozenset[str]:
    by_flag = {name for name, text in chosen.items() if text is not None}
    ours = [(name, text) for name, text in environ.items() if name.startswith("DOMOGATE_")]
    return frozenset(by_flag | {name.removeprefix("DOMOGATE_").lower() for name, text in ours if text})


def run_to_end(body: Callable[[], Awaitable[None]], *, serving: bool = False, loop_factory: LoopFactory | None = None) -> None:
    """Run `body` on a new event loop until it ends. `serving` is true if `body` runs a gateway.

    If `loop_factory` is None, a gateway uses uvloop if uvloop is installed.

    The program starts with a disabled garbage collector, because imports are faster without it. If `serving` is true, `body`
    must enable it. Otherwise this function enables it before it runs `body`.
    """

    async def whole() -> None:
        await body()

    if not serving and not gc.isenabled():  # `main` disabled it
        gc.freeze()
        gc.enable()
    with reporting_errors(), asyncio.Runner(loop_factory=loop_factory or _loop_factory(serving)) as runner:
        runner.run(whole())


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Turn an exception into a message and an exit code. A traceback is shown only if DOMOGATE_TRACEBACK is set."""
    try:
        yield
    except BadSettings as bad:
        fail("\ndomogate: ".join(map(str, bad.mistakes)), WRONG_USAGE)
    except WrongUsage as wrong:
        fail(str(wrong), WRONG_USAGE)
    except (Mistake, Refused) as mistake:
        fail(str(mistake), FAILED)
    except (KeyboardInterrupt, click.Abort):  # Abort: Ctrl-C or the end of input at a question
        raise click.exceptions.Exit(INTERRUPTED) from None
    except click.exceptions.Exit:
        raise
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _output_is_closed():
            raise click.exceptions.Exit(FAILED) from None
        if os.environ.get(TRACEBACK):
            raise
        fail(_explain(error), FAILED)


def _output_is_closed() -> bool:
    """Whether the program that reads our standard output has ended, as in `| head`.

    If it has ended, this function makes standard output drop everything that is written later. A closed output is not an error
    to report.
    """
    if not hasattr(select, "poll"):  # Windows
        return False
    output = select.poll()
    output.register(sys.stdout.fileno(), 0)
    if not any(event & select.POLLERR for _, event in output.poll(0)):
        return False
    os.dup2(
        os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
    )  # Otherwise the interpreter would report an error at its exit.
    return True


def _explain(error: Exception) -> str:
    from sqlalchemy.exc import DBAPIError  # Imported here, because the library is large and only an error needs it.

    if type(error).__module__.startswith("domogate."):
        return str(error)  # Our own messages say what to do.
    if isinstance(error, OSError) and error.strerror:
        if not error.filename:
            return f"{error.strerror}."
        owner = describe_denied(Path(error.filename)) if isinstance(error, PermissionError) else ""
        return f"{error.filename} cannot be used: {error.strerror}. {owner}".rstrip()
    if isinstance(error, DBAPIError):
        reason = str(error.orig).strip().partition("\n")[0].rstrip(".")  # The first line has no values of the statement.
        return f"the database cannot be used: {reason}.\n{TRACEBACK}=1 shows the place in the code, for a bug report."
    return f"{type(error).__name__}: {error}\n{TRACEBACK}=1 shows the place in the code, for a bug report."


def _loop_factory(serving: bool) -> LoopFactory | None:
    if not serving:  # The import of uvloop takes longer than a short command would gain.
        return None
    try:
        import uvloop
    except ImportError:  # not available on Windows
        return None
    return uvloop.new_event_loop


def fail(message: str, code: int) -> NoReturn:
    click.echo(f"domogate: {message}", err=True)
    raise click.exceptions.Exit(code)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator["Tools"]:
    """Yield the tools of a command on an existing store. Raises Mistake, and creates nothing, if there is no store.

    Raises OtherOwner if this process is root and the data folder belongs to another user. The reason: this user could not read
    new files of root. A command that only reads uses `reading` instead.
    """
    refuse_root(settings)
    async with reading(settings) as tools:
        yield tools


@asynccontextmanager
async def reading(settings: Settings) -> AsyncIterator["Tools"]:
    """Yield the tools of a command that only reads an existing store. Raises Mistake if there is no store.

    Root may run such a command even if the data folder belongs to another user. The command leaves no new file there.
    """
    from domogate.app import open_tools  # imports the database

    refuse_missing(settings)
    async with open_tools(settings, create=False) as tools:
        yield tools


def refuse_missing(settings: Settings) -> None:
    """Raises Mistake if the SQLite file of the store does not exist. A database on a server is not checked here."""
    from domogate.app import find_missing_file  # imports the database

    missing = find_missing_file(settings)
    if missing is not None:
        raise Mistake(
            f"there is no gateway in the folder {missing.parent.absolute()}: it has no {missing.name}. Nothing was created.\n"
            "Name the data folder of the gateway with --data DIR, DOMOGATE_DATA, or --config FILE.\n"
            "For a new gateway, run `domogate serve`, `domogate init` or `domogate estate import` first."
        )


@asynccontextmanager
async def changing(settings: Settings, *, create: bool = False) -> AsyncIterator["Tools"]:
    """Yield the tools of a command that changes data. A missing store is created only if `create` is true.

    The command ends when every running gateway of the store has applied the change (`until_applied`).
    """
    from domogate.app import open_tools  # imports the database

    if create:
        refuse_root(settings)  # `opened` does this too.
    async with open_tools(settings) if create else opened(settings) as tools:
        yield tools
        await until_applied(tools.store)


async def until_applied(store: Store) -> None:
    """Wait until every running gateway of this store has applied the last change.

    Raises Mistake after `APPLIED_WITHIN` seconds.
    """
    if await store.wait_applied(SILENT_FOR):
        return
    note("The change is stored; waiting for a running gateway to apply it …")
    if not await store.wait_applied(APPLIED_WITHIN - SILENT_FOR):
        raise Mistake(f"the change is stored, but a running gateway has not applied it within {APPLIED_WITHIN:g} seconds.")


def confirm(question: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise WrongUsage(f"{question} This command cannot ask without a terminal: add --yes.")
    if not click.confirm(question, err=True):
        raise Mistake("nothing was changed.")
