"""The marks of blocks that no test of the pages can run: `<!-- not run: REASON -->` and `<!-- run by: TEST -->`."""

import re
from pathlib import Path

from support.named_code import ROOT
from support.page_blocks import SHELLS, Block, read_blocks

DOCS = ROOT / "docs"

REASONS = {
    "needs Docker": r"\bdocker ",
    "needs root": r"\bsudo |/opt/",
    "needs a clone of the repository": r"\./dev |\.dev/|docs/images/",
    "needs a published release": r"git checkout v|pip install '?domogate",
    "needs a broker with devices": r"\bmosquitto_sub |domogate discover mqtt ",
    "needs the code of this page": r"--linelamp-address|/blinds/",
    "needs a public host": r"//gateway\.example\.com|//receiver\.example\b",
    "needs a redeemed ticket": r"\$PICTURE_TOKEN",
    "needs a subscription": r"/SUBSCRIPTION/",
    "needs a private network": r"--webhook-networks",
    "needs a person with a browser": r"CODE=…|\$TOKENS\b|REFRESH_TOKEN|domogate init ",
    "needs your settings file": r"--config domogate\.toml",
    "asks questions": r"\bestate new \S+ +#|rotate --emergency",
    "needs a recording": r"domogate replay ",
}
"""Why a block cannot be run, and what such a block contains. A block without this text does not need the mark."""


def pages_with_commands() -> list[Path]:
    """Return the pages with blocks of commands. The tutorials have their own test, and decisions have no commands to follow."""
    return [
        page
        for page in sorted(DOCS.rglob("*.md"))
        if not {"tutorials", "decisions"} & set(page.relative_to(DOCS).parts) and any(one.is_shell for one in read_blocks(page))
    ]


def is_run(block: Block) -> bool:
    """Whether the test of the pages runs the block."""
    return block.is_shell and not block.mark.startswith(("not run: ", "run by: "))


def find_wrong_marks(page: Path) -> list[str]:
    """Return what is wrong with the marks of a page."""
    text, blocks = page.read_text(), read_blocks(page)
    wrong = [problem for block in blocks if (problem := _find_mistake(block, page))]
    fences = len(re.findall(rf"^ *```(?:{'|'.join(SHELLS)})\b", text, re.MULTILINE))
    if fences != sum(block.is_shell for block in blocks):
        wrong.append("a block of commands cannot be read")
    if len(re.findall(r"<!-- (?:not run|run by):", text)) != sum(bool(block.mark) and not is_run(block) for block in blocks):
        wrong.append("a mark is not directly before a block of commands")
    return wrong


def _find_mistake(block: Block, page: Path) -> str:
    kind, _, about = block.mark.partition(": ")
    if kind == "run by":
        test = ROOT / about
        return "" if test.is_file() and page.name in test.read_text() else f"{about} does not name this page"
    if kind != "not run":
        return ""
    if about not in REASONS:
        return f"{about!r} is not one of the reasons"
    return "" if re.search(REASONS[about], block.script) else f"the block does not need the mark {about!r}: {block.script}"
