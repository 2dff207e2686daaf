import time
from collections.abc import Callable
from threading import Lock
from typing import Literal, TypeAlias

# The outcome of a webhook. Respond with 2xx to kept and duplicate, and with 409 to in_progress: an earlier
# attempt is still in progress and may fail.
Outcome: TypeAlias = Literal["kept", "duplicate", "in_progress"]


class BoundedStore:
    """Remembers, in memory, the ids of the events whose work is done. Threads may share a store.

    When the store is full, it forgets the oldest id. `remember_seconds` is a day by default, which outlasts all
    retries (1 h 51 min) and an outage of some hours. `now` is the clock in seconds.
    """

    def __init__(
        self,
        max_ids: int = 10_000,
        remember_seconds: float = 24 * 60 * 60,
        now: Callable[[], float] = time.time,
    ) -> None:
        if max_ids < 1:
            raise ValueError("max_ids must be a positive integer.")
        self._max_ids = max_ids
        self._remember_seconds = remember_seconds
        self._now = now
        self._lock = Lock()
        self._in_progress: set[str] = set()
        # A dict keeps the order of insertion, so its first key is the oldest.
        self._kept_until: dict[str, float] = {}

    def once(self, id: str, work: Callable[[], object]) -> Outcome:
        """Runs `work` once for each `webhook-id`.

        If `work` raises, raises its error, and the next attempt runs `work` again.
        """
        with self._lock:
            if id in self._in_progress:
                return "in_progress"
            if self._kept_until.get(id, 0) > self._now():
                return "duplicate"
            self._in_progress.add(id)
        try:
            work()
            self._keep(id)
        finally:
            with self._lock:
                self._in_progress.discard(id)
        return "kept"

    def _keep(self, id: str) -> None:
        with self._lock:
            self._kept_until.pop(id, None)
            if len(self._kept_until) >= self._max_ids:
                del self._kept_until[next(iter(self._kept_until))]
            self._kept_until[id] = self._now() + self._remember_seconds
