"""Whom a Grant lets in, and to what, as options of a command say it."""

from dataclasses import dataclass, fields

from isthmus.cli.joining.selecting import selector
from isthmus.core.grant import problem
from isthmus.model.errors import Misused
from isthmus.model.grants import From, Grant, GrantSpec, To
from isthmus.model.objects import Metadata
from isthmus.model.quoting import one_line


class BadScope(Misused):
    """Names that a Grant cannot have. Says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The fields of a Grant; what is empty was not said, and then nothing is excluded."""

    from_namespaces: tuple[str, ...] = ()
    from_service_accounts: tuple[str, ...] = ()
    to_namespaces: tuple[str, ...] = ()
    to_services: tuple[str, ...] = ()
    to_selectors: tuple[str, ...] = ()

    def spec(self, cluster: str) -> GrantSpec:
        """Return what a Grant for ``cluster`` says; raises :class:`BadScope`."""
        for field in fields(self):
            if "" in getattr(self, field.name):
                option = f"--{field.name.removesuffix('s').replace('_', '-')}"
                raise BadScope(f"{option} is empty; leave it out to restrict nothing")
        made = GrantSpec(
            cluster=cluster,
            from_=From(
                namespaces=self.from_namespaces or None,
                service_accounts=self.from_service_accounts or None,
            ),
            to=To(
                namespaces=self.to_namespaces or None,
                services=self.to_services or None,
                selector=selector(self.to_selectors),
            ),
        )
        why = problem(Grant(metadata=Metadata(name=cluster), spec=made))
        if why is not None:
            raise BadScope(one_line(why, 200))
        return made
