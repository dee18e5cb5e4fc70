"""What the demo tells: two clusters are joined, and a pod of one is called by name from the other.

Every line of output is what the typed command really answers, and every answer is checked.
"""

from isthmus.cli.showing.answers import answered_by, has, mirrors, row, running
from isthmus.cli.showing.stage import Holds, Stage

POD = "http://{}.nginx-svc-west.default.svc.east.cluster.local"
_LABEL = "kubectl --context west label service nginx-svc mirror.linkerd.io/exported"
_SCALE = "kubectl --context west -n isthmus scale deployment isthmus-gateway --replicas"
_INSTALL = """\
isthmus --context {0} install --cluster-name {0} --anchor anchor \\
    --set clusterDomain={0}.cluster.local -f quick.yaml --apply"""
_LINK = """\
isthmus --context west link --cluster-name west --set enableHeadlessServices=true \\
    --set probe.period=1s | kubectl --context east apply -f -"""


async def tell(stage: Stage) -> None:
    """Tell all of it, up to where everything works."""
    await install(stage)
    await join(stage)
    await export(stage)
    await refuse(stage)
    await stop(stage)
    await grow(stage)


async def install(stage: Stage) -> None:
    """Make an anchor, and install Isthmus in both clusters."""
    page = stage.page
    page.chapter("Trust: one anchor for all clusters")
    await stage.do("isthmus trust create --out anchor", "anchor/anchor.crt", "anchor/anchor.key")

    page.chapter("Install Isthmus in both: a controller, and two Envoys, gateway and egress")
    await stage.do("cat quick.yaml", "drain: 1")
    await stage.do(_INSTALL.format("west"), "deployment.apps/isthmus-gateway created", "as west")
    await stage.do(f"{_INSTALL.format('east')} | tail -n 2", "as east", "a new issuer of east")
    for cluster in ("west", "east"):
        await stage.see(f"kubectl --context {cluster} -n isthmus get pods", running(3))
    await stage.do("isthmus --context west check --wait 30", "Status check results are √")


async def join(stage: Stage) -> None:
    """Let pods of east in that run as default/curl, and link east to west."""
    page = stage.page
    page.chapter("West lets in pods of east that run as default/curl, and nobody else")
    await stage.do(
        "isthmus --context west allow east --from-service-account default/curl --apply",
        "grant.isthmus.dev/east created",
    )
    page.chapter("East imports what west exports. There is no credential in a Link")
    await stage.do(_LINK, "link.isthmus.dev/west created")
    await _gateway(stage, "True")
    await stage.see("isthmus --context east gateways", row("west", alive="True"))
    await stage.do("isthmus --context east check --wait 30 -o short", "Status check results are √")


async def export(stage: Stage) -> None:
    """Export a StatefulSet, and call its pods by name."""
    page = stage.page
    page.chapter("A StatefulSet in west, and two pods in east that may want to call it")
    await stage.do(
        "kubectl --context west apply -f nginx.yaml", "statefulset.apps/nginx-set created"
    )
    await stage.do("kubectl --context east apply -f callers.yaml", "pod/stranger created")
    await stage.see("kubectl --context west get pods", running(3))
    await stage.see("kubectl --context east get pods", running(2))

    page.chapter("Export it: a label is enough")
    await stage.do(f"{_LABEL}=true", "service/nginx-svc labeled")
    await stage.see("kubectl --context east get services", mirrors(3))

    page.chapter("Call a pod of west by its name, from a pod of east")
    await _call(stage, "nginx-set-0")
    page.say("It is that very pod that answers, and it is told who called: the URI at the end is")
    page.say("the identity that east's issuer vouches for and west's gateway has verified.")
    page.say()
    await _call(stage, "nginx-set-2")


async def refuse(stage: Stage) -> None:
    """Show that whoever has no Grant is refused, and how to find out why."""
    stage.page.chapter("Who has no Grant is refused")
    url = POD.format("nginx-set-0")
    await stage.see(
        f"kubectl --context east exec stranger -- curl -sSf {url}", has("returned error: 403")
    )
    await stage.see(
        "isthmus --context east why nginx-set-0.nginx-svc-west --account default/stranger",
        has("grant is broken", "--from-service-account default/stranger"),
    )


async def stop(stage: Stage) -> None:
    """Stop west's gateway, and start it again."""
    page = stage.page
    page.chapter("West's gateway goes away. The mirrors stay")
    await stage.do(f"{_SCALE}=0", "deployment.apps/isthmus-gateway scaled")
    await _gateway(stage, "False")
    await stage.see("isthmus --context east gateways", row("west", alive="False", num_svc="4"))
    await stage.see("kubectl --context east get services", mirrors(3))
    page.say("But they lead nowhere for now, so that callers hear of it at once:")
    page.say()
    await _ask(stage, "nginx-set-0", has("Could not resolve host"))

    page.chapter("It comes back, and so do the answers")
    await stage.do(f"{_SCALE}=1", "deployment.apps/isthmus-gateway scaled")
    await _gateway(stage, "True")
    await _call(stage, "nginx-set-0")


async def grow(stage: Stage) -> None:
    """Scale the StatefulSet up, and look at what has been called."""
    page = stage.page
    page.chapter("The StatefulSet grows, and its mirrors with it")
    await stage.do(
        "kubectl --context west scale statefulset nginx-set --replicas=5",
        "statefulset.apps/nginx-set scaled",
    )
    await stage.do(
        "kubectl --context east wait service/nginx-set-4-west --for=create --timeout=60s",
        "service/nginx-set-4-west condition met",
    )
    await stage.see("isthmus --context east services --mirrors", mirrors(5))
    await _call(stage, "nginx-set-4")
    await stage.do("isthmus --context east stat --total", "nginx-set-4-west")


async def clean_up(stage: Stage) -> None:
    """Take everything back, step by step, until nothing of it is left."""
    page = stage.page
    page.chapter("Clean up: what is not exported any more is gone, and so is the rest")
    await stage.do(f"{_LABEL}-", "service/nginx-svc unlabeled")
    await stage.see("kubectl --context east get services", mirrors(None))
    await stage.do("isthmus --context east unlink west --apply", "link.isthmus.dev/west")
    await stage.do("isthmus --context west deny east --apply", "grant.isthmus.dev/east")
    for cluster in ("east", "west"):
        await stage.do(
            f"isthmus --context {cluster} uninstall --apply | tail -n 1",
            "namespace/isthmus deleted",
        )


async def _gateway(stage: Stage, value: str) -> None:
    """Wait until east knows whether west's gateway is alive."""
    await stage.do(
        f"kubectl --context east wait link/west --for=condition=GatewayAlive={value} --timeout=60s",
        "link.isthmus.dev/west condition met",
    )


async def _call(stage: Stage, pod: str) -> None:
    """Call a pod of west from east's default/curl, and hear it answer."""
    await _ask(stage, pod, answered_by(pod))


async def _ask(stage: Stage, pod: str, holds: Holds) -> None:
    await stage.see(f"kubectl --context east exec curl -- curl -sS {POD.format(pod)}", holds)
