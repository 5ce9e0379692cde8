"""`./dev site`: builds the documentation site for the gateway, if its sources have changed."""

import argparse
import sys

from docsite.building import CannotBuild, build
from domogate.console.documentation import SITE


def main() -> int:
    argparse.ArgumentParser(prog="./dev site", description=__doc__).parse_args()
    try:
        made = build()
    except CannotBuild as problem:
        sys.stderr.write(f"{problem}./dev site: MkDocs reported the problems above, so the site was not built.\n")
        return 1
    if made:
        sys.stdout.write(f"The documentation is in {SITE}. A gateway that was started before must be restarted.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
