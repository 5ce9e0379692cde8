"""What all commands share: their settings, the event loop, and how a mistake is said.

Exit codes: 0 it is done; 1 it could not be done, and standard error says why; 2 the command line or a setting is wrong.
"""

import asyncio
import functools
import inspect
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click
import typer

from domogate.cli._flags import WHERE, flag_parameters
from domogate.families import FAMILIES
from domogate.ports import Store
from domogate.settings import BadSettings, Settings, load_settings

FAILED, WRONG_USAGE, INTERRUPTED = 1, 2, 130
APPLIED_WITHIN = 5.0

TRACEBACK = "DOMOGATE_TRACEBACK"
NO_SETTINGS = {TRACEBACK, "DOMOGATE_PYTHON", "DOMOGATE_TEST_PROCESSES"}
"""Variables with our prefix that are for this file and for ./dev; any other that is no setting is a mistake."""


class Mistake(Exception):
    """Something the caller can put right, in plain words."""


Body = Callable[..., Awaitable[None]]


def command(group: typer.Typer, name: str, *, flags: Sequence[str] = WHERE, **shown: Any) -> Callable[[Body], Body]:
    """Register an async function whose first parameter is the Settings; these flags and --config become options of it."""

    def register(body: Body) -> Body:
        parameters = list(inspect.signature(body, eval_str=True).parameters.values())[1:]

        @functools.wraps(body)
        def run(**given: Any) -> None:
            chosen = {flag: given.pop(flag) for flag in (*flags, "config")}
            run_to_end(lambda: body(_settings(chosen), **given))

        every = [*parameters, *flag_parameters(flags)]
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]  # what typer reads
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        group.command(name, **shown)(run)
        return body

    return register


def _settings(chosen: dict[str, str | None]) -> Settings:
    """Flags of the command, then those given before its name, then the environment, then the file."""
    before: dict[str, Any] = click.get_current_context().find_root().params
    flags = {**before, **{name: value for name, value in chosen.items() if value is not None}}
    config = flags.pop("config", None)
    environ = {name: value for name, value in os.environ.items() if name not in NO_SETTINGS}
    names = {family.slug for family in FAMILIES} | {operation.id for family in FAMILIES for operation in family.operations}
    return load_settings(flags, environ, None if config is None else Path(config), sunset_names=names)


def run_to_end(body: Callable[[], Awaitable[None]]) -> None:
    """Run on a fresh event loop, the fast one where there is one."""

    async def whole() -> None:
        await body()

    with plainly(), asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(whole())


@contextmanager
def plainly() -> Iterator[None]:
    """Whatever goes wrong is said in plain words, without a traceback, and becomes an exit code."""
    try:
        yield
    except BadSettings as bad:
        fail(str(bad), WRONG_USAGE)
    except Mistake as mistake:
        fail(str(mistake), FAILED)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except (click.ClickException, click.exceptions.Exit):
        raise
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        fail(_worded(error), FAILED)


def _worded(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if type(error).__module__.startswith("domogate."):
        return str(error)  # our own say what to do
    return f"{type(error).__name__}: {error}\n({TRACEBACK}=1 shows where.)"


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        return None
    return uvloop.new_event_loop


def fail(message: str, code: int) -> NoReturn:
    typer.echo(f"domogate: {message}", err=True)
    raise typer.Exit(code)


async def until_applied(store: Store) -> None:
    """Return once every running gateway on this store has applied what was just written."""
    if not await store.wait_applied(APPLIED_WITHIN):
        raise Mistake(f"it is written, but a running gateway has not applied it within {APPLIED_WITHIN:g} seconds.")
