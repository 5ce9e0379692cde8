"""The port for numbers about the stored data."""

from typing import Protocol

from domogate.domain.figures import StoreFigures


class FigureStore(Protocol):
    """Counts stored data, for the overview that operators see."""

    async def count_figures(self, since: float) -> StoreFigures:
        """Count the plants, modules, orders and so on that are in the store now (see StoreFigures).

        An ended order is counted only if it ended after the time `since`. It is not counted if it was queued more than ten
        minutes before `since`. But nearly all orders end within ten minutes, so such orders are very rare.
        """
        ...
