"""What Grants allow, and that nothing else does."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.core import grant as grants
from isthmus.core.grant import Permit
from isthmus.model.exports import Export
from isthmus.model.grants import From, Grant, GrantSpec, To
from isthmus.model.objects import Condition, Key, Metadata
from isthmus.model.routes import Callers
from isthmus.model.selectors import Requirement, Selector
from tests.support.builders import export

MESH = "isthmus"
EAST = "spiffe://east.isthmus/"


def grant(cluster: str = "east", *, from_: From | None = None, to: To | None = None) -> Grant:
    spec = GrantSpec(cluster=cluster, from_=from_ or From(), to=to or To())
    return Grant(metadata=Metadata(name="g", generation=3), spec=spec)


def permits(*given_: Grant) -> list[Permit]:
    found = (grants.permit(one, MESH) for one in given_)
    return [one for one in found if one is not None]


def lets_in(callers: Callers, identity: str) -> bool:
    """As a proxy decides it: by comparing text."""
    return identity in callers.exact or any(map(identity.startswith, callers.prefixes))


WEB = export("web", "shop", labels={"team": "a"})


@pytest.mark.parametrize(
    "to, covered",
    [
        pytest.param(To(), True, id="all exports, unless something is said"),
        pytest.param(To(namespaces=("shop",)), True, id="its namespace"),
        pytest.param(To(namespaces=("sho", "shopp")), False, id="namespaces like it"),
        pytest.param(To(namespaces=()), False, id="no namespace at all"),
        pytest.param(To(services=("shop/web",)), True, id="its name"),
        pytest.param(To(services=("bank/web",)), False, id="its name elsewhere"),
        pytest.param(To(services=()), False, id="no service at all"),
        pytest.param(To(selector=Selector(match_labels={"team": "a"})), True, id="its label"),
        pytest.param(To(selector=Selector(match_labels={"team": "b"})), False, id="another label"),
        pytest.param(To(selector=Selector()), False, id="an empty selector selects nothing"),
        pytest.param(
            To(namespaces=("shop",), services=("bank/web",)), False, id="every line must hold"
        ),
        pytest.param(To(services=("ghost/town",)), False, id="something that does not exist"),
    ],
)
def test_a_grant_covers_what_it_says(to: To, covered: bool) -> None:
    given_ = permits(grant(to=to))
    assert any(one.covers(WEB.key, WEB.labels) for one in given_) == covered
    assert (grants.callers(WEB, given_) != Callers()) == covered


@pytest.mark.parametrize(
    "from_, exact, prefixes",
    [
        pytest.param(From(), (), (EAST,), id="all workloads, unless something is said"),
        pytest.param(From(namespaces=("shop",)), (), (f"{EAST}ns/shop/",), id="a namespace"),
        pytest.param(
            From(service_accounts=("bank/teller",)),
            (f"{EAST}ns/bank/sa/teller",),
            (),
            id="an account",
        ),
        pytest.param(
            From(namespaces=("shop",), service_accounts=("bank/teller", "shop/web")),
            (f"{EAST}ns/bank/sa/teller",),
            (f"{EAST}ns/shop/",),
            id="lists add up, and nothing is said twice",
        ),
        pytest.param(From(namespaces=()), (), (), id="an empty list is nobody"),
    ],
)
def test_callers_are_named_exactly_or_by_a_prefix_that_ends(
    from_: From, exact: tuple[str, ...], prefixes: tuple[str, ...]
) -> None:
    found = grants.callers(WEB, permits(grant(from_=from_)))
    assert found == Callers(exact=exact, prefixes=prefixes)


@pytest.mark.parametrize(
    "other",
    [
        "spiffe://east2.isthmus/ns/shop/sa/web",
        "spiffe://east.isthmus.evil/ns/shop/sa/web",
        "spiffe://east.isthmus2/ns/shop/sa/web",
        "spiffe://west.isthmus/ns/shop/sa/web",
        "spiffe://east.isthmus",
    ],
)
def test_a_cluster_is_not_mistaken_for_another_that_starts_like_it(other: str) -> None:
    found = grants.callers(WEB, permits(grant("east")))
    assert lets_in(found, "spiffe://east.isthmus/ns/shop/sa/web")
    assert not lets_in(found, other)


def test_a_namespace_is_not_mistaken_for_another_that_starts_like_it() -> None:
    found = grants.callers(WEB, permits(grant(from_=From(namespaces=("shop",)))))
    assert lets_in(found, f"{EAST}ns/shop/sa/web")
    assert not lets_in(found, f"{EAST}ns/shop-admin/sa/web")


@pytest.mark.parametrize(
    "malformed, words",
    [
        pytest.param(grant("East"), "cluster", id="cluster in upper case"),
        pytest.param(grant("east.isthmus/ns"), "cluster", id="cluster with a path"),
        pytest.param(grant(""), "cluster", id="no cluster"),
        pytest.param(grant(from_=From(namespaces=("a/sa/b",))), "namespaces", id="a path"),
        pytest.param(grant(from_=From(namespaces=("",))), "namespaces", id="an empty name"),
        pytest.param(grant(to=To(namespaces=("*",))), "namespaces", id="a star is no pattern"),
        pytest.param(grant(from_=From(service_accounts=("a",))), "serviceAccounts", id="no slash"),
        pytest.param(
            grant(from_=From(service_accounts=("a/b/c",))), "serviceAccounts", id="two slashes"
        ),
        pytest.param(grant(to=To(services=("web",))), "services", id="a name without namespace"),
        pytest.param(
            grant(to=To(selector=Selector(match_labels={"-": "a"}))), "selector", id="no label"
        ),
        pytest.param(
            grant(
                to=To(
                    selector=Selector(match_expressions=(Requirement(key="a", operator="NotIn"),))
                )
            ),
            "selector",
            id="not in nothing would be everything",
        ),
        pytest.param(
            grant(
                to=To(
                    selector=Selector(
                        match_expressions=(
                            Requirement(key="a", operator="Exists"),
                            Requirement(key="b", operator="Exists", values=("c",)),
                        )
                    )
                )
            ),
            "selector: b Exists",
            id="one of many that goes with no values has some",
        ),
    ],
)
def test_a_malformed_grant_gives_nothing_and_is_told_why(malformed: Grant, words: str) -> None:
    assert permits(malformed) == []
    (condition,) = grants.status(malformed, "now").conditions
    assert (condition.type, condition.status, condition.reason) == (
        "Accepted",
        "False",
        "Malformed",
    )
    assert words in condition.message
    assert "\n" not in condition.message


def test_a_grant_that_is_being_deleted_gives_nothing() -> None:
    metadata = Metadata(name="g", deletion_timestamp="2026-01-01T00:00:00Z")
    assert permits(msgspec.structs.replace(grant(), metadata=metadata)) == []


def test_a_status_that_is_right_stays_as_it_is() -> None:
    once = msgspec.structs.replace(grant(), status=grants.status(grant(), "then"))
    assert grants.status(once, "now") == once.status
    (condition,) = once.status.conditions
    assert (condition.status, condition.observed_generation) == ("True", 3)
    theirs = Condition(type="Audited", status="True")
    marked = msgspec.structs.replace(
        once, status=msgspec.structs.replace(once.status, conditions=(theirs, condition))
    )
    assert grants.status(marked, "now").conditions == (theirs, condition)


def test_the_catalogue_is_for_the_controllers_of_clusters_that_have_a_grant() -> None:
    given_ = permits(grant("east"), grant("north", to=To(namespaces=())), grant("BAD"))
    assert grants.catalogue_callers(given_, MESH, "isthmus").exact == (
        "spiffe://east.isthmus/ns/isthmus/sa/isthmus-controller",
        "spiffe://north.isthmus/ns/isthmus/sa/isthmus-controller",
    )


def test_a_grant_is_read_as_the_api_writes_it() -> None:
    found = msgspec.json.decode(
        b'{"metadata":{"name":"g"},"spec":{"cluster":"east","from":{"serviceAccounts":["a/b"]},'
        b'"to":{"selector":{"matchLabels":{"team":"a"}}}}}',
        type=Grant,
    )
    assert found.spec.from_.service_accounts == ("a/b",)
    assert found.spec.to.selector == Selector(match_labels={"team": "a"})
    assert msgspec.json.decode(msgspec.json.encode(found), type=Grant) == found


CLUSTERS = st.sampled_from(["east", "east2", "west"])
NAMES = st.sampled_from(["shop", "shop-admin", "bank"])
PAIRS = st.builds(lambda a, b: f"{a}/{b}", NAMES, NAMES)


def some(of: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...] | None]:
    return st.none() | st.lists(of, max_size=2, unique=True).map(tuple)


GRANTS = st.builds(
    lambda cluster, namespaces, accounts, to: grant(
        cluster, from_=From(namespaces=namespaces, service_accounts=accounts), to=to
    ),
    CLUSTERS,
    some(NAMES),
    some(PAIRS),
    st.builds(
        To,
        namespaces=some(NAMES),
        services=some(PAIRS),
        selector=st.sampled_from([None, Selector(), Selector(match_labels={"team": "a"})]),
    ),
)
EXPORTS = st.builds(
    lambda namespace, name, labels: export(name, namespace, labels=labels),
    NAMES,
    NAMES,
    st.sampled_from([{}, {"team": "a"}]),
)
IDENTITIES = st.builds(
    lambda cluster, space, name: f"spiffe://{cluster}.isthmus/ns/{space}/sa/{name}",
    CLUSTERS,
    NAMES,
    NAMES,
)


@given(st.lists(GRANTS, max_size=4), EXPORTS, IDENTITIES)
def test_together_grants_let_in_whom_one_of_them_lets_in_alone(
    given_: list[Grant], one: Export, identity: str
) -> None:
    alone = any(lets_in(grants.callers(one, permits(each)), identity) for each in given_)
    assert lets_in(grants.callers(one, permits(*given_)), identity) == alone


@given(st.lists(GRANTS, max_size=4), EXPORTS, IDENTITIES)
def test_whoever_may_call_something_is_of_a_cluster_that_is_shown_it(
    given_: list[Grant], one: Export, identity: str
) -> None:
    known = permits(*given_)
    if lets_in(grants.callers(one, known), identity):
        home = identity.removeprefix("spiffe://").partition(".")[0]
        assert any(each.cluster == home and each.covers(one.key, one.labels) for each in known)


@given(GRANTS, EXPORTS)
def test_a_permit_says_no_more_than_its_grant(one: Grant, to: Export) -> None:
    for found in permits(one):
        if found.covers(to.key, to.labels):
            spec = one.spec.to
            assert spec.namespaces is None or to.namespace in spec.namespaces
            assert spec.services is None or str(Key(to.namespace, to.name)) in spec.services
            assert spec.selector is None or spec.selector.selects(to.labels)
