"""Workers: take a key, reconcile it, and let the kind of failure say what happens next."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar

from isthmus.model.errors import Permanent, Transient
from isthmus.runtime.workqueue import Closed, WorkQueue

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)


async def work(
    queue: WorkQueue[K], reconcile: Callable[[K], Awaitable[None]], workers: int = 8
) -> None:
    """Work until the queue is closed and every worker has given its key back.

    An error that is neither transient nor permanent is a bug: it ends all workers, and the
    caller with them.
    """
    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(_work(queue, reconcile))


async def _work(queue: WorkQueue[K], reconcile: Callable[[K], Awaitable[None]]) -> None:
    while True:
        try:
            key = await queue.take()
        except Closed:
            return
        try:
            await reconcile(key)
        except Transient as error:
            log.info("will retry", extra={"key": str(key), "error": str(error)})
            queue.retry(key)
        except Permanent as error:
            log.warning("waiting for a change", extra={"key": str(key), "error": str(error)})
            queue.done(key)
        except BaseException:
            # Cancelled, or a bug: the queue may outlive these workers, and must not keep a
            # key that nobody holds.
            queue.hand_back(key)
            raise
        else:
            queue.done(key)
