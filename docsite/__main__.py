"""`./dev site`: builds the documentation site for the gateway, if its sources have changed. With `--links`, only asks for the
pages of other sites to which it links.
"""

import argparse
import os
import sys
from pathlib import Path

from docsite.building import ROOT, CannotBuild, build
from docsite.links import ask_all, collect_links, list_pages
from domogate.console.site_manifest import SITE


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev site", description=__doc__)
    parser.add_argument("--links", action="store_true", help="ask for each page of another site; this needs the internet")
    return check_links(list_pages(ROOT)) if parser.parse_args(arguments).links else build_site()


def check_links(pages: list[Path]) -> int:
    """Ask for each page to which these pages link. Return 1 if a page cannot be read."""
    found = collect_links(pages)
    dead = ask_all(found)
    for url, reason in dead:
        places = sorted(
            {os.path.relpath(page, ROOT) for link, where in found.items() if link.partition("#")[0] == url for page in where}
        )
        sys.stdout.write(f"{url}: {reason} ({', '.join(places)})\n")
    sys.stdout.write(f"{len(found)} links to other sites, {len(dead)} pages that cannot be read.\n")
    return 1 if dead else 0


def build_site() -> int:
    try:
        made = build()
    except CannotBuild as problem:
        sys.stderr.write(f"{problem}./dev site: MkDocs reported the problems above, so the site was not built.\n")
        return 1
    if made:
        sys.stdout.write(f"The documentation is in {SITE}. A gateway that was started before must be restarted.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
