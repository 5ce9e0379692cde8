"""The port for numbers about the stored data."""

from typing import Protocol

from domogate.domain.figures import StoreFigures


class FigureStore(Protocol):
    """Counts stored data, for the overview that operators see."""

    async def count_figures(self, since: float) -> StoreFigures:
        """Count the plants, modules, orders and so on that are in the store now (see StoreFigures).

        An ended order is counted only if it ended after the time `since`, and was queued at most ten minutes before `since`.
        Nearly all orders end within ten minutes.
        """
        ...
