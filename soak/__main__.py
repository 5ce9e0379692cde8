"""`./dev soak`: runs the campaigns one after the other within a given time, and prints each result at once."""

import argparse
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

# The campaigns use the gateway, the clients and the checks of the tests.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from soak.campaigns import CAMPAIGNS, Campaign, Soak


def parse_arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev soak", description=__doc__, allow_abbrev=False)
    parser.add_argument("--minutes", type=float, default=20.0, help="time for all campaigns together (20)")
    parser.add_argument("--seed", type=int, help="repeat the run with this seed; without it a seed is chosen and printed")
    parser.add_argument("--only", nargs="+", choices=sorted(CAMPAIGNS), metavar="NAME", help=", ".join(sorted(CAMPAIGNS)))
    arguments = parser.parse_args(words)
    if arguments.minutes <= 0:
        parser.error("--minutes must be more than 0")
    return arguments


def run(name: str, campaign: Campaign, seconds: float, seed: int, directory: Path) -> bool:
    """Returns whether the campaign passed."""
    say(f"== {name}: {campaign.about} ({seconds:.0f} s)")
    started = time.monotonic()
    directory.mkdir()
    try:
        result = campaign.run(Soak(directory, time.monotonic() + seconds, seed, lambda text: say(f"   {text}")))
    except Exception as failure:
        if not isinstance(failure, AssertionError):
            traceback.print_exc()
        say(f"   FAILED after {time.monotonic() - started:.0f} s: {failure}")
        return False
    say(f"   passed: {result}")
    return True


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    arguments = parse_arguments(sys.argv[1:])
    seed = random.SystemRandom().randrange(2**32) if arguments.seed is None else arguments.seed
    names = arguments.only or [name for name, campaign in CAMPAIGNS.items() if not campaign.on_request]
    chosen = {name: campaign for name, campaign in CAMPAIGNS.items() if name in names}
    shares = sum(campaign.share for campaign in chosen.values())
    say(f"Soaking for {arguments.minutes:g} minutes; --seed {seed}")
    with tempfile.TemporaryDirectory(prefix="domogate-soak-") as folder:
        failed = [
            name
            for name, campaign in chosen.items()
            if not run(name, campaign, arguments.minutes * 60 * campaign.share / shares, seed, Path(folder) / name)
        ]
    say(f"FAILED: {', '.join(failed)}" if failed else f"All passed: {', '.join(chosen)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
