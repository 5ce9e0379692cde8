"""The marks of blocks: HTML comments before a block that say how tests run it, or why they do not."""

import re
from pathlib import Path

from support.named_code import ROOT
from support.page_blocks import SHELLS, Block, read_blocks

DOCS = ROOT / "docs"
READMES = [
    path for places in ("clients/*", "integrations/**", "deploy/**") for path in sorted(ROOT.glob(f"{places}/README.md"))
]
"""The pages outside docs/: those of packages, which package indexes show, and that of the Helm chart."""

NOT_RUN = {
    "needs Docker": r"\bdocker ",
    "changes systemd of this machine": r"service install|systemctl restart",
    "needs a package index": r"pip (?:install|download) ",
    "needs a name in the internet": r"\bcertbot ",
    "needs Kubernetes": r"\bhelm install ",
}
"""Why no machine of the tests can run a block, and what such a block contains."""
CHECKED_ONLY = {
    "takes minutes": r"\./dev (?:test|bench|soak)|support\.client_matrix",
    "needs a tag": r"git checkout v",
    "needs mosquitto-clients": r"\bmosquitto_sub ",
}
"""Why the tests only check a block without running it, and what such a block contains."""
IN_THE_SOAK = {"calls every operation": r"support\.sdk_recording"}
"""Why only the long form of the tests runs a block, and what such a block contains. The usual form checks it."""
_SOAK = "run in the soak"
_REASONS = {"not run": NOT_RUN, "checked only": CHECKED_ONLY, _SOAK: IN_THE_SOAK}
_MARKS = (*_REASONS, "run by")


def pages_with_commands() -> list[Path]:
    """Return the pages with blocks of commands. The tutorials have their own test, and decisions have no commands to follow."""
    pages = [page for page in sorted(DOCS.rglob("*.md")) if not {"tutorials", "decisions"} & set(page.relative_to(DOCS).parts)]
    return [page for page in (*pages, *READMES) if any(one.is_shell for one in read_blocks(page))]


def is_run(block: Block, *, in_soak: bool) -> bool:
    """Whether the test of the pages runs the block. `in_soak`: whether this is the long form of the test."""
    return block.is_shell and (kind_of(block) not in _MARKS or (in_soak and kind_of(block) == _SOAK))


def is_checked(block: Block) -> bool:
    """Whether a test checks the arguments of the commands, because no test of `./dev test` runs the block."""
    return kind_of(block) in ("checked only", _SOAK)


def is_followed(block: Block, *, in_soak: bool) -> bool:
    """Whether the test of the pages runs the block, or writes it to the file that its title names."""
    return is_run(block, in_soak=in_soak) or (not block.is_shell and bool(block.title))


def kind_of(block: Block) -> str:
    """Return the first words of the mark, which say what the mark means."""
    return block.mark.partition(": ")[0]


def find_wrong_marks(page: Path) -> list[str]:
    """Return what is wrong with the marks of a page."""
    text, blocks = page.read_text(), read_blocks(page)
    wrong = [problem for block in blocks if (problem := _find_mistake(block, page))]
    fences = len(re.findall(rf"^ *```(?:{'|'.join(SHELLS)})\b", text, re.MULTILINE))
    if fences != sum(block.is_shell for block in blocks):
        wrong.append("a block of commands cannot be read")
    marks = re.findall(rf"<!-- (?:{'|'.join(_MARKS)}|answers|run apart)\b", text)
    if len(marks) != sum(block.is_shell and bool(block.mark) for block in blocks):
        wrong.append("a mark is not directly before a block of commands")
    return wrong


def _find_mistake(block: Block, page: Path) -> str:
    """A mark can end with a test in brackets, which checks as much as possible of the block."""
    kind, (about, test) = kind_of(block), _split(block)
    if kind == "run by":
        file = ROOT / about
        name = page.relative_to(ROOT).as_posix() if page in READMES else page.name
        return "" if file.is_file() and name in file.read_text() else f"{about} does not name this page"
    if kind not in _REASONS:
        return ""
    if about not in _REASONS[kind]:
        return f"{about!r} is not one of the reasons"
    if test and not (ROOT / test).is_file():
        return f"{test} does not exist"
    return (
        "" if re.search(_REASONS[kind][about], block.script) else f"the block does not need the mark {about!r}: {block.script}"
    )


def _split(block: Block) -> tuple[str, str]:
    about = block.mark.partition(": ")[2]
    found = re.fullmatch(r"(.*?) \((tests/\S+)\)", about)
    return (found[1], found[2]) if found else (about, "")
