"""The estate file: one YAML file that describes everything a gateway serves (docs/estate.md)."""

from domogate.estate.mistakes import EstateMistakes, Mistake
from domogate.estate.printing import print_estate
from domogate.estate.reading import EstateFile, build_estate, read_estate
from domogate.estate.resources import demo_text, schema_text

__all__ = [
    "EstateFile",
    "EstateMistakes",
    "Mistake",
    "build_estate",
    "demo_text",
    "print_estate",
    "read_estate",
    "schema_text",
]
