"""Files and names of the code that documents mention in backquotes."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "domogate"


def missing_code(text: str) -> list[str]:
    """Return what a text names in backquotes and the project does not have.

    This is a path that does not exist, or a name in "`name` in `path`" that the file at this path does not contain.
    """
    folders = {path.name for parent in (ROOT, SOURCE) for path in parent.iterdir() if path.is_dir()}
    named: list[str] = re.findall(r"`([\w.-]+/[\w./-]*|\w+\.py)`", text)
    paths = [path for path in named if path.split("/")[0] in folders or "/" not in path]
    missing = [path for path in paths if not (ROOT / path).exists() and not (SOURCE / path).exists()]
    for name, path in re.findall(r"`([\w.]+)` in\s+`(src/[\w./]+\.py)`", text):
        if (ROOT / path).is_file() and name.split(".")[-1] not in (ROOT / path).read_text():
            missing.append(f"{name} in {path}")
    return missing
