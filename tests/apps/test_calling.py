"""Who calls from which address: as pods come, go, move and share."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from isthmus.apps.controller.carrying.calling import LIVE, Calling
from isthmus.embedded.cluster import Cluster
from isthmus.kube.client import Client
from isthmus.kube.resources import PODS, untyped
from isthmus.model.objects import Key, Pod
from isthmus.runtime.cache import Event, Gone, Listed, Put
from tests.support.builders import pod


class Heard:
    """Somebody who is told, and notes what is so by then."""

    def __init__(self) -> None:
        self.calling = Calling("isthmus")
        self.calling.tell(self.note)
        self.notes: list[Mapping[str, str]] = []

    def note(self) -> None:
        self.notes.append(dict(self.calling.callers))


def test_a_pod_that_comes_and_goes_is_somebody_meanwhile() -> None:
    heard = Heard()
    story: list[Event[Key, Pod]] = [
        Listed(()),
        Put(pod(ip="")),
        Put(pod(phase="Pending")),
        Put(pod(phase="Running")),
        Gone(Key("shop", "curl")),
    ]
    for event in story:
        heard.calling.fold(event)
    assert heard.notes == [{}, {"10.1.0.1": "shop/curl"}, {}]
    assert heard.calling.accounts == frozenset()


def test_our_own_workloads_are_nobody() -> None:
    heard = Heard()
    gateway = pod(namespace="isthmus", service_account_name="isthmus-gateway")
    heard.calling.fold(Listed((gateway,)))
    assert (heard.notes, heard.calling.accounts) == ([{}], frozenset())


def test_an_address_that_is_used_again_is_nobodys_until_its_former_pod_is_gone() -> None:
    heard = Heard()
    heard.calling.fold(Listed((pod("one"),)))
    heard.calling.fold(Put(pod("two", service_account_name="other")))
    assert (dict(heard.calling.callers), heard.calling.shared) == ({}, 1)
    heard.calling.fold(Gone(Key("shop", "one")))
    assert dict(heard.calling.callers) == {"10.1.0.1": "shop/other"}
    assert (heard.calling.shared, heard.calling.accounts) == (0, frozenset({"shop/other"}))


NAMES = st.sampled_from(["one", "two", "three"])
PODS_LIKE = st.builds(
    lambda name, ip, account, host, phase: pod(
        name, ip, phase=phase, service_account_name=account, host_network=host
    ),
    NAMES,
    st.sampled_from(["", "10.1.0.1", "10.1.0.2"]),
    st.sampled_from(["", "curl", "web"]),
    st.booleans(),
    st.sampled_from(["Running", "Running", "Pending", "Failed"]),
)
EVENTS: st.SearchStrategy[Event[Key, Pod]] = st.one_of(
    PODS_LIKE.map(Put),
    NAMES.map(lambda name: Gone(Key("shop", name))),
    st.lists(PODS_LIKE, max_size=3, unique_by=lambda one: one.metadata.key).map(
        lambda found: Listed(tuple(found))
    ),
)


@given(st.lists(EVENTS, max_size=12))
def test_whatever_happened_only_what_is_there_now_counts(events: list[Event[Key, Pod]]) -> None:
    heard, pods = Heard(), {}
    heard.calling.fold(Listed(()))
    for event in events:
        heard.calling.fold(event)
        match event:
            case Listed(objects):
                pods = {one.metadata.key: one for one in objects}
            case Put(one):
                pods[one.metadata.key] = one
            case Gone(key):
                pods.pop(key, None)
    fresh = Heard()
    fresh.calling.fold(Listed(tuple(pods.values())))
    assert dict(heard.calling.callers) == dict(fresh.calling.callers)
    assert heard.calling.accounts == frozenset(heard.calling.callers.values())
    assert heard.calling.shared == fresh.calling.shared
    assert all(before != after for before, after in zip(heard.notes[1:], heard.notes, strict=False))


async def test_pods_that_have_ended_are_not_even_sent() -> None:
    plain = untyped("v1", "Pod", "pods", namespaced=True)
    client = Client(Cluster("east").transport())
    for name, phase in (
        ("new", None),
        ("run", "Running"),
        ("done", "Succeeded"),
        ("bad", "Failed"),
    ):
        spec = {"containers": [{"name": "main", "image": "any"}]}
        await client.create(
            plain, {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
        )
        if phase is not None:
            status = {"status": {"phase": phase}}
            await client.merge_patch(plain, Key("default", name), status, "status")
    found = await client.list(PODS, LIVE)
    assert {one.metadata.name for one in found.objects} == {"new", "run"}
    assert {one.spec.service_account_name for one in found.objects} == {"default"}
