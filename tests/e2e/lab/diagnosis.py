"""What a failed story leaves for whoever reads the log: both clusters, their logs, the proxies."""

from collections.abc import Iterator

from lab.stage import Stage

LINES = 80  # of each answer: the last ones
QUESTIONS = (
    "kubectl --context {cluster} get nodes,pods -A -o wide",
    "kubectl --context {cluster} get services,endpointslices -A",
    "kubectl --context {cluster} get links,grants -o yaml",
    "kubectl --context {cluster} get events -A --sort-by=.lastTimestamp",
    "isthmus --context {cluster} check",
)
ABOUT_PODS = "kubectl --context {cluster} --namespace isthmus"
LOGS = f"{ABOUT_PODS} logs deployment/{{workload}} --all-pods --prefix --tail={LINES}"
# Envoy leaves private keys out of what it shows of its configuration.
ENVOY = (
    f"{ABOUT_PODS} exec deployment/{{workload}} -- /opt/isthmus/bin/python -c "
    "'import asyncio, pathlib, sys; from isthmus.envoy.admin import Admin; "
    'admin = Admin(pathlib.Path("/run/isthmus/admin.sock")); '
    "print(asyncio.run(admin.get(sys.argv[1])))' {page}"
)
PAGES = ("/listeners", "/clusters", "/config_dump?resource=dynamic_route_configs")
PROXIES = ("isthmus-gateway", "isthmus-egress")


def diagnosis(stage: Stage) -> Iterator[str]:
    """Each question with its answer; one that cannot be answered says why."""
    for cluster in (one.name for one in stage.clusters):
        commands = [question.format(cluster=cluster) for question in QUESTIONS]
        commands += [
            LOGS.format(cluster=cluster, workload=workload)
            for workload in ("isthmus-controller", *PROXIES)
        ]
        commands += [
            ENVOY.format(cluster=cluster, workload=workload, page=page)
            for workload in PROXIES
            for page in PAGES
        ]
        for command in commands:
            answer = stage.shell(command, timeout=60).all.splitlines()
            yield "\n".join([f"$ {command}", *answer[-LINES:], ""])
