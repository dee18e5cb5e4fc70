"""Our own workloads as the API shows them, reduced to what tells whether they run, and why not."""

from datetime import datetime, timedelta

from msgspec import field

from isthmus.kube.resources import Resource
from isthmus.model.objects import Condition, Metadata, Value
from isthmus.model.reviews import AccessStatus, ResourceAttributes
from isthmus.model.times import parsed

# Why a container that will run in a moment waits.
_STARTING = frozenset({"", "ContainerCreating", "PodInitializing"})
_LONG = timedelta(minutes=1)  # after which whoever runs should be ready


class Container(Value, frozen=True, kw_only=True):
    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()


def tag(image: str) -> str:
    """Return the tag of an image; a digest alone tells nobody which version it is."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


class Waiting(Value, frozen=True, kw_only=True):
    reason: str = ""
    message: str = ""


class State(Value, frozen=True, kw_only=True):
    waiting: Waiting | None = None


class ContainerStatus(Value, frozen=True, kw_only=True):
    name: str = ""
    restart_count: int = 0
    state: State = State()


class PodSpec(Value, frozen=True, kw_only=True):
    service_account_name: str = ""
    containers: tuple[Container, ...] = ()


class PodStatus(Value, frozen=True, kw_only=True):
    phase: str = ""
    pod_ip: str = field(default="", name="podIP")
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Value, frozen=True, kw_only=True):
    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_ready(self) -> bool:
        leaving = self.metadata.deletion_timestamp is not None
        ready = any(one.type == "Ready" and one.status == "True" for one in self.status.conditions)
        return ready and not leaving

    def is_stuck(self, now: datetime) -> bool:
        """Whether the pod has tried to start, and could not; or cannot even try; or runs since long
        without getting ready."""
        if self.is_ready or self.metadata.deletion_timestamp is not None:
            return False
        waiting = [one.state.waiting for one in self.status.container_statuses]
        return (
            any(one is not None and one.reason not in _STARTING for one in waiting)
            or any(one.restart_count for one in self.status.container_statuses)
            or any(
                one.type == "PodScheduled" and one.status == "False"
                for one in self.status.conditions
            )
            or (self.status.phase == "Running" and self._unready_for(now) > _LONG)
        )

    def _unready_for(self, now: datetime) -> timedelta:
        """Return for how long the pod has not been ready; one that has just been may be again."""
        since = [one.last_transition_time for one in self.status.conditions if one.type == "Ready"]
        try:
            return now - parsed(next(filter(None, since), self.metadata.creation_timestamp or ""))
        except ValueError:
            return timedelta()

    @property
    def trouble(self) -> str:
        """Why the pod is not ready, as far as Kubernetes says so."""
        for one in self.status.container_statuses:
            if one.state.waiting is not None and one.state.waiting.reason:
                found = one.state.waiting
                return f"{found.reason}: {found.message}" if found.message else found.reason
        for condition in self.status.conditions:
            if condition.type == "PodScheduled" and condition.status == "False":
                return f"{condition.reason}: {condition.message}"
        if self.status.phase == "Running":
            again = sum(one.restart_count for one in self.status.container_statuses)
            return "runs, but is not ready" + (f"; restarts: {again}" if again else "")
        return self.status.phase or "not started"


class Template(Value, frozen=True, kw_only=True):
    spec: PodSpec = PodSpec()


class DeploymentSpec(Value, frozen=True, kw_only=True):
    replicas: int = 1
    template: Template = Template()


class Deployment(Value, frozen=True, kw_only=True):
    metadata: Metadata
    spec: DeploymentSpec = DeploymentSpec()


PODS = Resource(type=Pod, kind="Pod", plural="pods")
DEPLOYMENTS = Resource(type=Deployment, kind="Deployment", plural="deployments", group="apps")


class SubjectAccessReviewSpec(Value, frozen=True, kw_only=True):
    user: str
    groups: tuple[str, ...] = ()
    resource_attributes: ResourceAttributes | None = None


class SubjectAccessReview(Value, frozen=True, kw_only=True):
    """May somebody else do this?"""

    spec: SubjectAccessReviewSpec
    status: AccessStatus = AccessStatus()


ACCESS_REVIEWS = Resource(
    type=SubjectAccessReview,
    kind="SubjectAccessReview",
    plural="subjectaccessreviews",
    group="authorization.k8s.io",
    namespaced=False,
)
