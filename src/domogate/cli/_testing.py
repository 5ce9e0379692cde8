"""`domogate demo --testing`: a gateway for tests of applications."""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import msgspec

from domogate.cli._command import LoopFactory, Mistake, WrongUsage
from domogate.cli._options import flag, option
from domogate.cli._ready import Ready, write_ready
from domogate.cli._ready_users import make_ready
from domogate.estate import EstateFile, EstateMistakes, demo_text, read_estate
from domogate.settings import Settings

if TYPE_CHECKING:
    from domogate.app import Tools

Testing = Annotated[bool, flag("--testing", "Serve the test API too, with which tests reset and control the gateway.")]
TestEstate = Annotated[
    Path | None,
    option(
        "FILE",
        "With --testing: begin with this estate file instead of the demo estate; `-` is standard input.",
        show_default=False,
    ),
]

_FIXED = ("data", "database", "cluster", "nats")
"""Settings that must not be set together with --testing: a gateway for tests keeps its data in a temporary folder."""


def choose_loop(arguments: Mapping[str, Any]) -> LoopFactory | None:
    """Return a function that makes an event loop whose time a test can move. Return None if the gateway is not for tests."""
    if not arguments["testing"]:
        return None
    from domogate.app.movable_clock import LeapingLoop  # Only tests need it.

    return LeapingLoop


def check_testing(settings: Settings, given: frozenset[str]) -> None:
    """Raises WrongUsage if a setting of `_FIXED` is set.

    `given` has the names of the settings that a flag or variable sets.
    """
    if wrong := [name for name in _FIXED if name in given or getattr(settings, name) != getattr(Settings(), name)]:
        raise WrongUsage(
            f"--testing keeps its data in a temporary folder and replaces them at each reset: leave out {', '.join(wrong)}."
        )


async def serve_kit(settings: Settings, ready_file: Path | None, estate: Path | None) -> None:
    """Run the gateway for tests until it is stopped."""
    from domogate.app import serve_for_tests
    from domogate.app.kit_data import KIT_CLIENT, KIT_KEY

    text, file = _read(estate)
    made: list[Ready] = []

    async def prepare(tools: "Tools", management_token: str) -> None:
        ready = await make_ready(tools, await tools.open_signer(), file, KIT_CLIENT, KIT_KEY)
        made.append(msgspec.structs.replace(ready, management_token=management_token))

    async def on_ready() -> None:
        (ready,) = made
        click.echo(f"Domogate serves {file.source} for tests at {ready.base_url}. Its keys and passwords are public.")
        if ready_file is not None:
            write_ready(ready_file, ready)

    with tempfile.TemporaryDirectory(prefix="domogate-testing-") as folder:
        await serve_for_tests(settings, text, Path(folder), prepare, on_ready)


def _read(estate: Path | None) -> tuple[str, EstateFile]:
    if estate is None:
        return demo_text(), read_estate(demo_text(), "the demo estate")
    text, source = (sys.stdin.read(), "standard input") if str(estate) == "-" else (estate.read_text("utf-8"), str(estate))
    try:
        return text, read_estate(text, source)
    except EstateMistakes as found:
        raise Mistake("\n".join(f"{source}: line {mistake}" for mistake in found.mistakes)) from None
