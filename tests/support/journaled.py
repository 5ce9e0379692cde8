"""A restartable gateway whose devices keep a journal of the orders that they get."""

from collections.abc import Mapping
from pathlib import Path

from support import journaling_gateway
from support.restartable import RestartableGateway, clean_environment


class JournaledGateway(RestartableGateway):
    """Like `RestartableGateway`, with devices that keep a journal."""

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        self.journal = directory / "orders.journal"
        environment = clean_environment({**settings, journaling_gateway.JOURNAL: str(self.journal)})
        super().__init__(directory, environment, module=journaling_gateway.__name__)
