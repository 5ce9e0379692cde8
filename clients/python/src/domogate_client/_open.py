"""`Literal` for models: a type checker sees the values that this version knows, and the decoder accepts every text.

A newer gateway may send a value that this version does not know, for example a new kind of device. The answer is still useful.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Literal as Literal
else:

    class Literal:
        """At run time, `Literal["on", "off"]` is `str`."""

        def __class_getitem__(cls, values: Any) -> Any:
            return type(values[0] if isinstance(values, tuple) else values)
