"""The kinds an embedded cluster serves, as data.

A kind says how it is addressed, which subresources it has, and how one of its objects is
filled in and judged before it is stored. Custom resources become kinds, too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from isthmus.embedded.kinds import formats
from isthmus.embedded.status import Cause
from isthmus.model.wire import JsonObject


def unchanged(_obj: JsonObject) -> None:
    """The default of kinds that need no defaults."""


def unprepared(_new: JsonObject, _old: JsonObject | None) -> None:
    """The default of kinds in which the server decides nothing by itself."""


def all_known(_obj: JsonObject) -> list[str]:
    """The default of kinds without a schema: no field is known to be unknown."""
    return []


def accepted(_new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """The default of kinds whose content is not judged."""
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of ``kubectl get``: its title and how a cell is computed from an object."""

    title: str
    cell: Callable[[JsonObject], object]
    wide: bool = False  # shown with -o wide only
    type: str = "string"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How a kind shows objects that the store keeps in the words of another one."""

    resource: str  # where they are kept
    names: Mapping[str, str]  # of fields that are called otherwise there
    stored: Callable[[JsonObject], JsonObject]
    shown: Callable[[JsonObject], JsonObject]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of object in one version of one group."""

    group: str  # "" is the core group
    version: str
    name: str  # the kind: "Service"
    plural: str
    singular: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False  # a status subresource; main-path writes then ignore `status`
    has_scale: bool = False
    has_generation: bool = False  # metadata.generation counts changes of everything but status
    # How lists merge in strategic and apply patches: path of the list ("spec.ports", "*" stands
    # for a list item) to the keys that identify an element; () marks a set of scalars.
    # Lists that are not named are atomic.
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Server-side apply identifies elements of some lists by other keys than strategic patches
    # do (Service ports: port and protocol): such lists are named here again, and this table wins.
    apply_lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Values that a key has when an element omits it: list path to {key: value}.
    key_defaults: Mapping[str, JsonObject] = field(default_factory=dict)
    shape: str = ""  # the type in `shapes` that decodes it; custom resources have a schema
    # What that type looks like when nothing is set: members that exist without being written,
    # and so have no owner of their own.
    zero: JsonObject = field(default_factory=dict)
    atoms: frozenset[str] = frozenset()  # paths of objects that server-side apply owns as a whole
    free: frozenset[str] = frozenset()  # paths of objects whose members no schema names
    strategic: bool = True  # custom resources know no strategic merge patch
    name_rule: formats.NameRule = formats.subdomain_name  # what is wrong with a metadata.name
    fill: Callable[[JsonObject], None] = unchanged  # sets defaults, in place, on a private copy
    # What the server decides by itself once field ownership has been recorded (so that nobody
    # owns it), in place: (new, old). `admission.prepared` calls it.
    prepare: Callable[[JsonObject, JsonObject | None], None] = unprepared
    unknown: Callable[[JsonObject], list[str]] = all_known  # paths that the schema does not know
    judge: Callable[[JsonObject, JsonObject | None], list[Cause]] = accepted  # (new, old)
    columns: tuple[Column, ...] = ()
    view: View | None = None  # of another kind's objects

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """The store's name for all objects of this kind, whatever the version."""
        return self.view.resource if self.view else f"{self.group}/{self.plural}"

    def seen(self, obj: JsonObject) -> JsonObject:
        """A stored object in the words and version of this kind."""
        shown = self.view.shown(obj) if self.view else obj
        return {**shown, "kind": self.name, "apiVersion": self.api_version}

    def stored(self, obj: JsonObject) -> JsonObject:
        """An object of this kind in the words of the store."""
        return self.view.stored(obj) if self.view else obj

    def keys(self, path: str) -> tuple[str, ...] | None:
        """How server-side apply tells the elements of the list at ``path`` apart."""
        return self.apply_lists.get(path, self.lists.get(path))

    @property
    def list_name(self) -> str:
        return f"{self.name}List"
