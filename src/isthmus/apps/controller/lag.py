"""Notices when something keeps the event loop from turning: leases and probes suffer first."""

import logging

from isthmus.runtime.clock import Clock

log = logging.getLogger(__name__)

EVERY = 1.0  # seconds
ALARM = 1.0  # seconds late


class Lag:
    """How late the loop was when it was last expected to turn, in seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0

    async def run(self, clock: Clock) -> None:
        while True:
            began = clock.now()
            await clock.sleep(EVERY)
            self.seconds = max(0.0, clock.now() - began - EVERY)
            if self.seconds > ALARM:
                log.warning("the event loop was held up", extra={"seconds": self.seconds})
