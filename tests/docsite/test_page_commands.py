"""The commands of the pages in docs/ work as they are written. The tutorials have their own test."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from docsite.building import ROOT
from domogate.estate import demo_text
from support.gateway import Gateway, run_command, running, start
from support.page_blocks import read_blocks
from support.page_marks import is_run, pages_with_commands
from support.page_shell import Reader

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"
PAGES = [page for page in pages_with_commands() if any(is_run(block) for block in read_blocks(page))]

_STRICT = """
set -o pipefail
curl() {
    case " $* " in
    *" -N "*) command curl --fail-with-body --max-time 2 "$@" || [ $? = 28 ] ;;  # a stream does not end
    *) command curl --fail-with-body "$@" ;;
    esac
}
"""
"""A refused request fails the block."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """The demo, which the pages share."""
    with running(start("demo", tmp_path_factory.mktemp("demo"))) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the estate of the demo, without a running gateway. Each page gets a copy."""
    folder = tmp_path_factory.mktemp("store")
    (folder / "estate.yaml").write_text(demo_text())
    done = run_command(["estate", "import", str(folder / "estate.yaml"), "--data", str(folder / "data")], {})
    assert done.returncode == 0, done.stderr
    return folder / "data"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_every_command_works(page: Path, gateway: Gateway, store: Path, tmp_path: Path) -> None:
    """The folder has what the pages name: the running demo, its ready file, and DIR, a data folder of the reader."""
    shutil.copytree(store, tmp_path / "DIR")
    (tmp_path / "demo-data").symlink_to(gateway.data)
    (tmp_path / "ready.json").write_text(json.dumps(gateway.ready))
    reader = Reader(tmp_path, {"8080": str(urlsplit(gateway.base_url).port)}, {"DOMOGATE_DATA": "demo-data"})
    try:
        reader.run(_STRICT + read_blocks(DOCS / "families.md")[0].script)
        reader.follow([block for block in read_blocks(page) if is_run(block)])
    finally:
        reader.stop()
