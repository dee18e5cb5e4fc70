"""Who calls from which address, folded from the cluster's pods as they come and go."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from isthmus.core import egress
from isthmus.core.egress import Caller
from isthmus.kube.requests import Selection
from isthmus.model.objects import Key, Pod
from isthmus.runtime.cache import Cache, Event, Gone, Listed, Put

# The server leaves out what has ended; of a batch cluster's pods that is most.
LIVE = Selection(fields="status.phase!=Failed,status.phase!=Succeeded")

NOBODY = ""


class Calling:
    """Knows the account behind each address.

    Our own workloads are nobody here: what carries the calls of others must not be able to
    speak as a gateway or a controller.
    """

    def __init__(self, own_namespace: str) -> None:
        self._own_namespace = own_namespace
        self._told: list[Callable[[], None]] = []
        self._pods: Cache[Key, Caller] = Cache(lambda one: one.key)
        self._by_address = self._pods.index(lambda one: one.addresses)
        self._callers: dict[str, str] = {}
        self._in_use: Counter[str] = Counter()
        self._shared: set[str] = set()

    @property
    def synced(self) -> bool:
        return self._pods.synced

    @property
    def callers(self) -> Mapping[str, str]:
        """Address to "namespace/account"."""
        return self._callers

    @property
    def accounts(self) -> frozenset[str]:
        """The accounts that somebody calls under now."""
        return frozenset(self._in_use) - {NOBODY}

    @property
    def shared(self) -> int:
        """How many addresses are nobody's because several accounts claim them."""
        return len(self._shared)

    def tell(self, told: Callable[[], None]) -> None:
        """Have ``told`` called when an address is another's, and once all of them are known."""
        self._told.append(told)

    def fold(self, event: Event[Key, Pod]) -> None:
        before = self.synced
        touched = {
            address
            for change in self._pods.fold(self._reduced(event))
            for one in (change.before, change.after)
            if one is not None
            for address in one.addresses
        }
        # Not a list of conditions: each address has to be settled, whatever became of others.
        others = [self._settle(address) for address in touched]
        if any(others) or self.synced != before:
            for told in self._told:
                told()

    def _settle(self, address: str) -> bool:
        """Decide about one address anew; tell whether it is somebody else's by that."""
        claimants = [self._pods.objects[key] for key in self._by_address[address]]
        account, former = egress.account(claimants), self._callers.pop(address, NOBODY)
        self._shared.discard(address)
        if account:
            self._callers[address] = account
        elif len({one.account for one in claimants}) > 1:
            self._shared.add(address)
        if account == former:
            return False
        self._in_use[account] += 1
        self._in_use[former] -= 1
        if not self._in_use[former]:
            del self._in_use[former]
        return True

    def _reduced(self, event: Event[Key, Pod]) -> Event[Key, Caller]:
        match event:
            case Listed(objects, unreadable):
                return Listed(tuple(self._callers_of(objects)), unreadable)
            case Put(pod):
                return next(map(Put, self._callers_of((pod,))), Gone(pod.metadata.key))
            case Gone():
                return event

    def _callers_of(self, pods: Iterable[Pod]) -> Iterator[Caller]:
        for pod in pods:
            found = egress.caller(pod)
            if found is not None and pod.metadata.namespace != self._own_namespace:
                yield found
