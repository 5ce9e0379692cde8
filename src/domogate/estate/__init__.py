"""The estate file: one YAML file that describes everything a gateway serves (docs/estate.md)."""

from domogate.domain.estate import Mistake
from domogate.estate.building import EstateFile
from domogate.estate.mistakes import EstateMistakes
from domogate.estate.printing import print_estate, print_in_parts
from domogate.estate.reading import build_estate, read_estate, scan_estate
from domogate.estate.resources import demo_terms, demo_text, schema_text
from domogate.estate.spool import PlantSpool

__all__ = [
    "EstateFile",
    "EstateMistakes",
    "Mistake",
    "PlantSpool",
    "build_estate",
    "demo_terms",
    "demo_text",
    "print_estate",
    "print_in_parts",
    "read_estate",
    "scan_estate",
    "schema_text",
]
