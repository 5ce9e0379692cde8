"""The errors of the parsers for texts of a server that may be broken or hostile."""

import msgspec

MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors of msgspec for a text that it cannot read. RecursionError: the text has too many nested levels."""
