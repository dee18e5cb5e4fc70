"""One stream, request by request."""

from collections.abc import Iterable, Mapping

import pytest

from isthmus.xds.references import Reference
from isthmus.xds.resources import (
    CLUSTER,
    ENDPOINTS,
    LISTENER,
    ROUTES,
    SCOPED_ROUTES,
    SECRET,
    Resource,
)
from isthmus.xds.session import NAMES, Asked, Said, Session, TooManyNames
from isthmus.xds.snapshot import Entry, Snapshot
from isthmus.xds.topic import Refusal

WEB = Reference(CLUSTER, "web")


def entry(type_url: str, name: str, version: str, *needs: Reference) -> Entry:
    return Entry(Resource(type_url, name, version, b"key material"), frozenset(needs))


def snapshot(*entries: Entry) -> Snapshot:
    types: dict[str, dict[str, Entry]] = {}
    for one in entries:
        types.setdefault(one.resource.type_url, {})[one.resource.name] = one
    return Snapshot(types)


def cluster(name: str, version: str = "1", *needs: Reference) -> Entry:
    return entry(CLUSTER, name, version, *needs)


def listener(name: str, version: str = "1", *needs: Reference) -> Entry:
    return entry(LISTENER, name, version, *needs)


def sent(said: Iterable[Said]) -> list[tuple[str, dict[str, str], tuple[str, ...]]]:
    return [(one.type_url, _versions(one.entries), one.removed) for one in said]


def _versions(entries: Mapping[str, Entry]) -> dict[str, str]:
    return {name: one.version for name, one in entries.items()}


class Stream:
    """A session, and a proxy that asks for clusters and listeners and takes what it gets."""

    def __init__(self, *entries: Entry, **versions: Mapping[str, str]) -> None:
        self.session = Session()
        self.log: list[tuple[str, dict[str, str], tuple[str, ...]]] = []
        self.open: list[Said] = self.session.publish(snapshot(*entries))
        for kind, type_url in (("clusters", CLUSTER), ("listeners", LISTENER)):
            self.ask(type_url, versions=versions.get(kind, {}))

    def ask(
        self,
        type_url: str,
        *subscribe: str,
        unsubscribe: tuple[str, ...] = (),
        versions: Mapping[str, str] | None = None,
    ) -> None:
        asked = Asked(
            type_url=type_url,
            subscribe=subscribe,
            unsubscribe=unsubscribe,
            versions=versions or {},
        )
        self.open += self.session.receive(asked)

    def publish(self, *entries: Entry) -> None:
        self.open += self.session.publish(snapshot(*entries))

    def answer(self, error: str | None = None) -> Said:
        """Answer the oldest response."""
        said = self.open.pop(0)
        self.log += sent([said])
        self.open += self.session.receive(
            Asked(type_url=said.type_url, nonce=said.nonce, error=error)
        )
        return said

    def settle(self) -> list[tuple[str, dict[str, str], tuple[str, ...]]]:
        while self.open:
            self.answer()
        log, self.log = self.log, []
        return log


def test_nothing_is_said_before_there_is_a_snapshot() -> None:
    session = Session()
    assert session.receive(Asked(type_url=CLUSTER)) == []
    assert session.receive(Asked(type_url=LISTENER, versions={"old": "1"})) == []
    assert sent(session.publish(snapshot(cluster("web")))) == [
        (CLUSTER, {"web": "1"}, ()),
        (LISTENER, {}, ("old",)),
    ]


def test_a_new_proxy_is_answered_even_if_there_is_nothing_for_it() -> None:
    assert Stream().settle() == [(CLUSTER, {}, ()), (LISTENER, {}, ())]


def test_a_proxy_that_has_everything_is_sent_nothing() -> None:
    stream = Stream(cluster("web"), listener("80"), clusters={"web": "1"}, listeners={"80": "1"})
    assert stream.open == []
    assert stream.session.acknowledged(CLUSTER, "web") == "1"


def test_one_change_sends_one_resource() -> None:
    many = [cluster(f"c{number}") for number in range(2_000)]
    stream = Stream(*many)
    stream.settle()
    stream.publish(*many[1:], cluster("c0", "2"))
    assert stream.settle() == [(CLUSTER, {"c0": "2"}, ())]


def test_a_listener_waits_until_its_cluster_is_acknowledged() -> None:
    stream = Stream(cluster("web"), listener("80", "1", WEB))
    assert sent(stream.open) == [(CLUSTER, {"web": "1"}, ())]
    stream.answer()
    assert sent(stream.open) == [(LISTENER, {"80": "1"}, ())]


def test_a_listener_waits_for_the_clusters_of_its_routes_and_their_secrets() -> None:
    routes = Reference(ROUTES, "r")
    secret = Reference(SECRET, "s")
    stream = Stream(
        cluster("web", "1", secret),
        entry(SECRET, "s", "1"),
        entry(ROUTES, "r", "1", WEB),
        listener("80", "1", routes),
    )
    stream.answer()
    assert stream.open == []
    stream.ask(SECRET, "s")
    assert sent(stream.open) == [(SECRET, {"s": "1"}, ())]
    stream.answer()
    assert sent(stream.open) == [(LISTENER, {"80": "1"}, ())]


def test_a_listener_waits_for_a_cluster_that_will_never_have_its_secret() -> None:
    stream = Stream(
        cluster("web", "1", Reference(SECRET, "s")),
        entry(SECRET, "s", "bad"),
        listener("80", "1", WEB),
    )
    stream.answer()
    stream.ask(SECRET, "s")
    stream.answer("this is no key")
    assert stream.open == []
    stream.publish(
        cluster("web", "1", Reference(SECRET, "s")),
        entry(SECRET, "s", "2"),
        listener("80", "1", WEB),
    )
    assert stream.settle()[-1] == (LISTENER, {"80": "1"}, ())


def test_a_listener_waits_until_a_changed_cluster_has_its_endpoints_again() -> None:
    need = Reference(ENDPOINTS, "web")
    places = entry(ENDPOINTS, "web", "1")
    stream = Stream(cluster("web", "1", need), places)
    stream.ask(ENDPOINTS, "web")
    stream.settle()
    stream.publish(cluster("web", "2", need), places, listener("80", "1", WEB))
    stream.answer()
    assert sent(stream.open) == [(ENDPOINTS, {"web": "1"}, ())]
    stream.answer()
    assert sent(stream.open) == [(LISTENER, {"80": "1"}, ())]


def test_a_listener_waits_for_all_clusters_that_a_connection_may_choose() -> None:
    every, secret = Reference(CLUSTER, "west|*"), Reference(SECRET, "s")
    stream = Stream(
        cluster("west|cart", "1", secret),
        cluster("east|cart", "bad"),
        entry(SECRET, "s", "1"),
        listener("80", "1", every),
    )
    stream.answer("east|cart is bad")
    stream.answer()
    stream.answer("east|cart is bad")
    assert stream.open == []
    stream.ask(SECRET, "s")
    stream.answer("this one, too")
    # What will never come is not waited for: others may be called all the same.
    assert sent(stream.open) == [(LISTENER, {"80": "1"}, ())]


def test_a_cluster_stays_as_long_as_nobody_has_seen_the_scopes_of_a_listener() -> None:
    kept = listener("80", "1", Reference(SCOPED_ROUTES, "*"))
    stream = Stream(kept, clusters={"web": "1"}, listeners={"80": "1"})
    assert stream.open == []
    stream.ask(SCOPED_ROUTES, versions={"web": "1"})
    assert stream.settle() == [(SCOPED_ROUTES, {}, ("web",)), (CLUSTER, {}, ("web",))]


def test_a_cluster_stays_as_long_as_scopes_may_be_left_of_a_listener_that_is_gone() -> None:
    """The next one would use them, until it is told of others."""
    comes = listener("80", "1", Reference(SCOPED_ROUTES, "*"))
    stream = Stream(comes, clusters={"web": "1"})
    assert sent(stream.open) == [(LISTENER, {"80": "1"}, ())]
    stream.settle()
    stream.ask(SCOPED_ROUTES, versions={"web": "1"})
    assert stream.settle() == [(SCOPED_ROUTES, {}, ("web",)), (CLUSTER, {}, ("web",))]


def test_a_cluster_stays_until_the_listener_without_it_is_acknowledged() -> None:
    stream = Stream(cluster("web"), listener("80", "1", WEB))
    stream.settle()
    stream.publish(listener("80", "2"))
    assert sent(stream.open) == [(LISTENER, {"80": "2"}, ())]
    stream.answer()
    assert sent(stream.open) == [(CLUSTER, {}, ("web",))]


def test_a_cluster_stays_as_long_as_routes_that_nobody_has_seen_may_need_it() -> None:
    kept = (listener("80", "1", Reference(ROUTES, "r")), entry(ROUTES, "r", "2"))
    stream = Stream(*kept, clusters={"web": "1"}, listeners={"80": "1"})
    assert stream.open == []
    stream.ask(ROUTES, "r", versions={"r": "1"})
    assert stream.settle() == [(ROUTES, {"r": "2"}, ()), (CLUSTER, {}, ("web",))]


def test_a_cluster_that_is_being_removed_and_comes_back_is_sent_before_what_needs_it() -> None:
    stream = Stream(cluster("web"))
    stream.settle()
    stream.publish()
    stream.publish(cluster("web"), listener("80", "1", WEB))
    assert stream.settle() == [
        (CLUSTER, {}, ("web",)),
        (CLUSTER, {"web": "1"}, ()),
        (LISTENER, {"80": "1"}, ()),
    ]


def test_a_changed_cluster_is_followed_by_its_endpoints() -> None:
    endpoints = entry(ENDPOINTS, "web", "1")
    need = Reference(ENDPOINTS, "web")
    stream = Stream(cluster("web", "1", need), endpoints)
    stream.ask(ENDPOINTS, "web")
    stream.settle()
    stream.publish(cluster("web", "2", need), endpoints)
    # Envoy answers about the cluster only when it has the endpoints.
    assert sent(stream.open) == [(CLUSTER, {"web": "2"}, ()), (ENDPOINTS, {"web": "1"}, ())]


def test_endpoints_are_sent_again_to_a_proxy_that_is_silent_about_clusters() -> None:
    session = Session()
    session.publish(snapshot(entry(ENDPOINTS, "web", "1")))
    asked = Asked(type_url=ENDPOINTS, subscribe=("web",), versions={"web": "1"})
    assert sent(session.receive(asked)) == [(ENDPOINTS, {"web": "1"}, ())]


def test_a_name_that_does_not_exist_is_said_not_to_exist_once() -> None:
    stream = Stream()
    stream.settle()
    stream.ask(ENDPOINTS, "nobody")
    assert stream.settle() == [(ENDPOINTS, {}, ("nobody",))]
    stream.publish(entry(ENDPOINTS, "nobody", "1"))
    assert stream.settle() == [(ENDPOINTS, {"nobody": "1"}, ())]


def test_what_is_asked_for_again_is_sent_again_and_what_is_given_up_is_not() -> None:
    stream = Stream(entry(SECRET, "s", "1"))
    stream.settle()
    stream.ask(SECRET, "s")
    stream.settle()
    stream.ask(SECRET, "s")
    assert stream.settle() == [(SECRET, {"s": "1"}, ())]
    stream.ask(SECRET, unsubscribe=("s",))
    stream.publish(entry(SECRET, "s", "2"))
    assert stream.settle() == []
    assert stream.session.acknowledged(SECRET, "s") is None


def test_what_left_the_snapshot_is_still_there_for_a_cluster_that_was_sent_before() -> None:
    stream = Stream(cluster("web", "1", Reference(SECRET, "s")), entry(SECRET, "s", "1"))
    stream.publish()
    stream.ask(SECRET, "s")
    assert (SECRET, {"s": "1"}, ()) in stream.settle()


def test_what_left_the_snapshot_is_still_there_when_the_cluster_has_been_acknowledged() -> None:
    """Until it is warm, Envoy asks for no listener, and the cluster waits for what it asks for."""
    comes = listener("80", "1", Reference(SCOPED_ROUTES, "*"))
    session = Session()
    session.publish(snapshot(cluster("web", "1", Reference(SECRET, "s")), entry(SECRET, "s", "1")))
    (said,) = session.receive(Asked(type_url=CLUSTER))
    session.publish(snapshot(comes))
    session.receive(Asked(type_url=CLUSTER, nonce=said.nonce))
    asked = session.receive(Asked(type_url=SECRET, subscribe=("s",)))
    assert sent(asked) == [(SECRET, {"s": "1"}, ())]


def test_a_newer_snapshot_replaces_what_still_waits() -> None:
    stream = Stream(cluster("web", "1"))
    for version in ("2", "3", "4"):
        stream.publish(cluster("web", version))
    assert [one[1] for one in stream.settle() if one[0] == CLUSTER] == [{"web": "1"}, {"web": "4"}]


def test_a_stale_answer_changes_nothing() -> None:
    stream = Stream(cluster("web"))
    for nonce in ("", "0", "99"):
        assert stream.session.receive(Asked(type_url=CLUSTER, nonce=nonce, error="no")) == []
    assert stream.session.acknowledged(CLUSTER, "web") is None
    stream.settle()
    assert stream.session.acknowledged(CLUSTER, "web") == "1"


def test_a_flood_of_answers_is_answered_by_nothing() -> None:
    """Neither what was answered already nor what was never said makes anything happen."""
    stream = Stream(cluster("web"), listener("l"))
    stream.settle()
    for number in range(20_000):
        nonce, error = str(number % 7), "no" if number % 2 else None
        assert stream.session.receive(Asked(type_url=CLUSTER, nonce=nonce, error=error)) == []
    assert stream.session.pending == 0
    assert stream.session.refused == {}
    assert stream.session.acknowledged(CLUSTER, "web") == "1"


def test_a_refused_resource_is_not_sent_again_until_it_changes() -> None:
    stream = Stream(cluster("web", "bad"))
    stream.answer("no such thing")
    stream.publish(cluster("web", "bad"), cluster("db"))
    assert stream.settle() == [
        (CLUSTER, {"web": "bad"}, ()),
        (LISTENER, {}, ()),
        (CLUSTER, {"db": "1"}, ()),
    ]
    assert stream.session.refused == {WEB: Refusal("bad", "no such thing")}
    stream.publish(cluster("web", "2"), cluster("db"))
    assert stream.session.refused == {}
    assert stream.settle() == [(CLUSTER, {"web": "2"}, ())]


def test_what_a_refused_version_was_changed_back_to_is_sent_if_it_may_be_lost() -> None:
    stream = Stream(cluster("a"), cluster("b"))
    stream.settle()
    stream.publish(cluster("a", "2"), cluster("b", "2"))
    stream.publish(cluster("a"), cluster("b"))
    stream.answer("one of them is wrong")
    sent_back = [one[1] for one in stream.settle()]
    assert {"a": "1"} in sent_back
    assert {"b": "1"} in sent_back


def test_what_was_removed_beside_something_bad_is_sent_when_it_comes_back() -> None:
    """Envoy refuses the response and has removed it all the same."""
    stream = Stream(cluster("a"), cluster("b"))
    stream.settle()
    stream.publish(cluster("a", "2"))
    stream.publish(cluster("a"), cluster("b"))
    stream.answer("a is wrong")
    assert {"b": "1"} in [one[1] for one in stream.settle()]


@pytest.mark.parametrize("hint", ["it does not say which", "c7 is bad"])
def test_the_bad_one_of_many_is_found_and_the_others_live(hint: str) -> None:
    stream = Stream(*(cluster(f"c{number}") for number in range(32)))
    answers = 0
    while stream.open:
        bad = "c7" in stream.open[0].entries
        stream.answer(hint if bad else None)
        answers += 1
    assert stream.session.refused == {Reference(CLUSTER, "c7"): Refusal("1", hint)}
    assert all(
        stream.session.acknowledged(CLUSTER, f"c{number}") for number in range(32) if number != 7
    )
    assert answers <= (5 if "c7" in hint else 14)


def test_a_listener_takes_the_place_of_a_removed_one_even_after_a_refusal() -> None:
    stream = Stream(listener("old"))
    stream.settle()
    stream.publish(listener("new"), listener("bad"))
    assert sent(stream.open) == [(LISTENER, {"new": "1", "bad": "1"}, ("old",))]
    stream.answer("nothing you could use")
    assert sent(stream.open) == [(LISTENER, {}, ("old",))]


def test_types_that_are_not_ours_have_no_effect() -> None:
    assert Session().receive(Asked(type_url="type.googleapis.com/what.Ever")) == []


def test_a_proxy_that_names_too_much_is_not_served() -> None:
    names = tuple(f"n{number}" for number in range(NAMES + 1))
    with pytest.raises(TooManyNames, match="names more than"):
        Session().receive(Asked(type_url=ENDPOINTS, subscribe=names))


def test_pending_counts_what_is_on_its_way_or_waits() -> None:
    stream = Stream(cluster("web"), listener("80", "1", WEB))
    assert stream.session.pending == 2
    stream.settle()
    assert stream.session.pending == 0


def test_nothing_that_is_said_shows_what_is_inside() -> None:
    stream = Stream(cluster("web"))
    assert "key material" not in repr(stream.open)


def test_a_proxy_that_follows_scopes_no_more_forgets_them_and_asks_again_for_all() -> None:
    scopes = entry(SCOPED_ROUTES, "web", "1")
    stream = Stream(scopes, listener("80", "1", Reference(SCOPED_ROUTES, "*")))
    stream.settle()
    stream.ask(SCOPED_ROUTES)
    assert stream.settle() == [(SCOPED_ROUTES, {"web": "1"}, ())]
    stream.ask(SCOPED_ROUTES, unsubscribe=("*",))
    stream.publish(entry(SCOPED_ROUTES, "web", "2"), listener("80", "2"))
    assert stream.settle() == [(LISTENER, {"80": "2"}, ())]
    assert stream.session.acknowledged(SCOPED_ROUTES, "web") is None
    stream.ask(SCOPED_ROUTES, "*")
    assert stream.settle() == [(SCOPED_ROUTES, {"web": "2"}, ())]


def test_what_a_proxy_that_has_said_little_may_use_is_not_known() -> None:
    session = Session()
    session.publish(snapshot(cluster("web")))
    session.receive(Asked(type_url=CLUSTER, versions={"web": "1"}))
    assert session.uses(CLUSTER, "web")  # it has not spoken of its listeners
    session.receive(Asked(type_url=LISTENER))
    assert not session.uses(CLUSTER, "web")


def test_a_removal_that_is_refused_is_not_said_again() -> None:
    stream = Stream(cluster("web"), listener("80", "1", WEB))
    stream.settle()
    stream.publish(cluster("web"))
    assert stream.answer("it is mine").removed == ("80",)
    stream.log.clear()
    stream.publish(cluster("web", "2"))
    assert stream.settle() == [(CLUSTER, {"web": "2"}, ())]
    assert stream.session.refused == {Reference(LISTENER, "80"): Refusal("", "it is mine")}


def test_what_two_snapshots_share_is_not_looked_at_again() -> None:
    stream = Stream(cluster("web"), listener("80", "1", WEB))
    stream.settle()
    before = snapshot(cluster("web"), listener("80", "1", WEB))
    stream.open += stream.session.publish(before)
    after = Snapshot({**before.types, LISTENER: snapshot(listener("80", "2", WEB)).of(LISTENER)})
    stream.open += stream.session.publish(after)
    assert stream.settle() == [(LISTENER, {"80": "2"}, ())]


def test_secrets_that_two_snapshots_share_stay_held() -> None:
    needing = cluster("web", "1", Reference(SECRET, "s"))
    stream = Stream(needing, entry(SECRET, "s", "1"))
    stream.ask(SECRET, "s")
    stream.settle()
    before = snapshot(needing, entry(SECRET, "s", "1"))
    stream.open += stream.session.publish(before)
    stream.open += stream.session.publish(Snapshot({SECRET: before.of(SECRET)}))
    assert stream.settle() == [(CLUSTER, {}, ("web",))]
    assert stream.session.acknowledged(SECRET, "s") == "1"


def test_what_a_proxy_has_but_does_not_ask_for_is_not_counted_as_held() -> None:
    stream = Stream(entry(SECRET, "s", "1"), entry(SECRET, "t", "1"))
    stream.settle()
    stream.ask(SECRET, "s", versions={"s": "1", "t": "1"})
    assert stream.settle() == []
    assert stream.session.acknowledged(SECRET, "s") == "1"
    assert stream.session.acknowledged(SECRET, "t") is None


def test_a_listener_does_not_wait_for_routes_that_are_nowhere() -> None:
    stream = Stream(listener("80", "1", Reference(ROUTES, "lost")))
    assert (LISTENER, {"80": "1"}, ()) in stream.settle()


def test_of_two_versions_that_were_refused_with_others_one_may_be_there_still() -> None:
    needs = Reference(CLUSTER, "old")
    stream = Stream(cluster("old"), listener("a", "1"), listener("b", "1"))
    stream.settle()
    stream.publish(cluster("old"), listener("a", "2", needs), listener("b", "2"))
    stream.publish(listener("a", "3"), listener("b", "3"))
    stream.answer("one of them is wrong")  # nobody knows whether a took version 2, with its needs
    while stream.open:
        names = stream.open[0].entries
        stream.answer("a is wrong" if "a" in names else None)
    assert stream.session.refused[Reference(LISTENER, "a")].version == "3"
    removed = [name for _, _, names in stream.log for name in names]
    assert "old" not in removed


def test_what_is_given_up_before_it_is_acknowledged_holds_nothing() -> None:
    routes = Reference(ROUTES, "r")
    stream = Stream(cluster("web"), entry(ROUTES, "r", "1", WEB), listener("80", "1", routes))
    stream.settle()
    stream.ask(ROUTES, "r")
    assert sent(stream.open) == [(ROUTES, {"r": "1"}, ())]
    stream.ask(ROUTES, unsubscribe=("r",))
    stream.publish()
    assert stream.settle() == [
        (ROUTES, {"r": "1"}, ()),
        (LISTENER, {}, ("80",)),
        (CLUSTER, {}, ("web",)),
    ]


def test_one_more_name_sends_one_more_resource() -> None:
    stream = Stream(entry(SECRET, "s", "1"), entry(SECRET, "t", "1"))
    stream.settle()
    stream.ask(SECRET, "s")
    stream.settle()
    stream.ask(SECRET, "t")
    assert stream.settle() == [(SECRET, {"t": "1"}, ())]


def test_a_new_cluster_waits_until_its_endpoints_are_asked_for() -> None:
    needing = [
        (cluster(name, "1", Reference(ENDPOINTS, name)), entry(ENDPOINTS, name, "1"))
        for name in ("web", "db")
    ]
    stream = Stream(*needing[0])
    stream.ask(ENDPOINTS, "web")
    stream.settle()
    stream.publish(*needing[0], *needing[1])
    assert stream.settle() == [(CLUSTER, {"db": "1"}, ())]
    stream.ask(ENDPOINTS, "db")
    assert stream.settle() == [(ENDPOINTS, {"db": "1"}, ())]


def test_what_is_asked_for_by_name_is_not_taken_away_when_it_leaves_the_snapshot() -> None:
    """The proxy gives it up itself, when nothing it has needs it any more."""
    stream = Stream(entry(SECRET, "s", "1"))
    stream.ask(SECRET, "s")
    stream.settle()
    stream.publish()
    assert stream.settle() == []


def test_a_listener_waits_for_a_cluster_that_waits_for_others_to_be_acknowledged() -> None:
    stream = Stream(cluster("east|cart"))
    stream.open.reverse()
    stream.answer()
    every = Reference(CLUSTER, "west|*")
    stream.publish(cluster("east|cart"), cluster("west|cart"), listener("80", "1", every))
    assert [one[:2] for one in stream.settle() if one[1]] == [
        (CLUSTER, {"east|cart": "1"}),
        (CLUSTER, {"west|cart": "1"}),
        (LISTENER, {"80": "1"}),
    ]


def test_what_was_refused_with_others_is_passed_over_while_it_waits_for_something_else() -> None:
    stream = Stream(listener("a"), listener("b"))
    stream.answer()
    stream.publish(cluster("web"), listener("b", "2", WEB), listener("c"))
    stream.answer("a or b")
    assert sent(stream.open) == [(CLUSTER, {"web": "1"}, ()), (LISTENER, {}, ("a",))]
    stream.open.reverse()
    stream.answer()
    assert sent(stream.open) == [(CLUSTER, {"web": "1"}, ()), (LISTENER, {"c": "1"}, ())]
    stream.settle()
    for name, version in (("b", "2"), ("c", "1")):
        assert stream.session.acknowledged(LISTENER, name) == version
