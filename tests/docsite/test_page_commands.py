"""The commands of the pages in docs/ work as they are written. The tutorials have their own test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from docsite.building import ROOT, build
from domogate.estate import demo_text
from support.examples import is_long
from support.gateway import run_command
from support.page_blocks import read_blocks
from support.page_marks import is_followed, is_run, pages_with_commands
from support.page_stage import Stage, open_stage

pytestmark = pytest.mark.slow

IN_SOAK = is_long()
PAGES = [page for page in pages_with_commands() if any(is_run(block, in_soak=IN_SOAK) for block in read_blocks(page))]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the estate of the demo, without a running gateway."""
    folder = tmp_path_factory.mktemp("store")
    (folder / "estate.yaml").write_text(demo_text())
    done = run_command(["estate", "import", str(folder / "estate.yaml"), "--data", str(folder / "data")], {})
    assert done.returncode == 0, done.stderr
    return folder / "data"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, store: Path) -> Iterator[Stage]:
    build()  # a page downloads files from the demo
    with open_stage(tmp_path_factory.mktemp("stage"), store) as stage:
        yield stage


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_works(page: Path, stage: Stage, tmp_path: Path) -> None:
    blocks = [block for block in read_blocks(page) if is_followed(block, in_soak=IN_SOAK)]
    reader = stage.open_folder(tmp_path, blocks)
    try:
        reader.follow(blocks)
    finally:
        reader.stop()


def test_the_faults_of_the_readme_are_injected_and_cleared(stage: Stage, tmp_path: Path) -> None:
    blocks = [block for block in read_blocks(ROOT / "README.md") if block.is_shell and "fault inject" in block.script]
    assert len(blocks) == 1
    reader = stage.open_folder(tmp_path, blocks)
    try:
        reader.follow(blocks)
        # The other pages use the same demo.
        reader.run('$domogate fault clear "Worktop strip" --data demo-data')
    finally:
        reader.stop()
