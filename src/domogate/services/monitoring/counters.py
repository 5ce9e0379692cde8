"""Counters of the gateway, and their differences between two times."""

from collections.abc import Mapping, Sequence

import msgspec


class RequestCounts(msgspec.Struct):
    """The requests of one API: their number by status, and their number by duration."""

    statuses: dict[int, int]
    durations: list[int]
    """The number of requests in each bucket of durations."""

    def minus(self, before: "RequestCounts | None") -> "RequestCounts":
        if before is None:
            return self
        statuses = {status: count - before.statuses.get(status, 0) for status, count in self.statuses.items()}
        return RequestCounts(
            {status: count for status, count in statuses.items() if count},
            [now - then for now, then in zip(self.durations, before.durations, strict=True)],
        )

    def find_percentile(self, bounds: Sequence[float], share: float) -> float | None:
        """Return the duration in seconds that this share of the requests did not exceed.

        Return None if there were no requests.

        `bounds` are the upper bounds of the buckets. This function assumes that the durations in a bucket are evenly
        distributed. The last bucket has no upper bound. For a duration in this bucket, the function returns the lower bound of
        the bucket.
        """
        wanted = share * sum(self.durations)
        lower, seen = 0.0, 0
        for bound, count in zip(bounds, self.durations, strict=False):
            if count and seen + count >= wanted:
                return lower + (bound - lower) * (wanted - seen) / count
            lower, seen = bound, seen + count
        return lower if wanted else None


class Counters(msgspec.Struct, frozen=True):
    """Counts since the start of this process. These numbers never become smaller."""

    requests: Mapping[str, RequestCounts]
    """The requests of each API. The key is the name of a family or of another surface.

    For most paths that belong to no API, for example paths that do not exist, the key is `other`.
    """
    events: int
    """The events that were sent to event streams."""
    deliveries: Mapping[str, int]
    """The attempts to deliver to webhooks, by outcome. The key `dead` counts events that were given up."""
    refused_logins: int

    def minus(self, before: "Counters") -> "Counters":
        requests = {name: counts.minus(before.requests.get(name)) for name, counts in self.requests.items()}
        return Counters(
            {name: counts for name, counts in requests.items() if counts.statuses},
            self.events - before.events,
            {name: count - before.deliveries.get(name, 0) for name, count in self.deliveries.items()},
            self.refused_logins - before.refused_logins,
        )
