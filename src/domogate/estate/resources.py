"""Files in the package: the demo estate with its terms of use, and the JSON Schema of the estate file."""

from importlib.resources import files
from pathlib import Path


def demo_text() -> str:
    """Return the text of the estate file of the demo."""
    return (files("domogate.estate") / "demo.yaml").read_text(encoding="utf-8")


def demo_terms() -> Path:
    """Return the path of the file with the terms of use of the demo."""
    return Path(str(files("domogate.estate") / "demo-terms.txt"))


def schema_text() -> str:
    """Return the JSON Schema (Draft 2020-12) of the estate file."""
    return (files("domogate.estate") / "estate.schema.json").read_text(encoding="utf-8")
