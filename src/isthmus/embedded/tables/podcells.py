"""What ``kubectl get pods`` says about a pod: a summary of its containers' states."""

from isthmus.model.wire import JsonObject


def ready(pod: JsonObject) -> str:
    running = [status for status in _statuses(pod) if _is_ready(status)]
    return f"{len(running)}/{len(pod['spec'].get('containers') or ())}"


def restarts(pod: JsonObject) -> str:
    return str(sum(status.get("restartCount", 0) for status in _statuses(pod)))


def status(pod: JsonObject) -> str:
    """The pod's phase, unless something more telling is known."""
    state = pod.get("status", {})
    phase = state.get("phase", "")
    if pod["metadata"].get("deletionTimestamp"):
        if state.get("reason") == "NodeLost":
            return "Unknown"
        if phase not in ("Succeeded", "Failed"):
            return "Terminating"
    return _initializing(pod) or _containers(pod, state.get("reason") or phase)


def readiness_gates(pod: JsonObject) -> str:
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
    if not gates:
        return "<none>"
    conditions = pod.get("status", {}).get("conditions") or ()
    passed = {c["type"] for c in conditions if c["status"] == "True"}
    return f"{len(passed.intersection(gates))}/{len(gates)}"


def _statuses(pod: JsonObject) -> list[JsonObject]:
    return list(pod.get("status", {}).get("containerStatuses") or ())


def _is_ready(container: JsonObject) -> bool:
    return bool(container.get("ready")) and "running" in container.get("state", {})


def _initializing(pod: JsonObject) -> str:
    """The state of the first init container that has not ended well; empty when all have."""
    found = pod.get("status", {}).get("initContainerStatuses") or ()
    total = len(pod["spec"].get("initContainers") or ())
    for done, container in enumerate(found):
        state = container.get("state", {})
        ended, waiting = state.get("terminated"), state.get("waiting", {}).get("reason", "")
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if ended is not None:
            return f"Init:{_ending(ended)}"
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{done}/{total}"
    return ""


def _containers(pod: JsonObject, reason: str) -> str:
    """The reason of the first container that waits or has ended, else ``reason``."""
    shown, failed = reason, ""
    for container in reversed(_statuses(pod)):
        state = container.get("state", {})
        waiting, ended = state.get("waiting", {}).get("reason", ""), state.get("terminated")
        if waiting:
            shown = waiting
        elif ended is not None:
            shown = _ending(ended)
            if ended.get("exitCode", 0) != 0:
                failed = shown
    if shown != "Completed":
        return shown
    if any(_is_ready(container) for container in _statuses(pod)):
        conditions = pod.get("status", {}).get("conditions") or ()
        is_ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
        return "Running" if is_ready else failed or "NotReady"
    return failed or shown


def _ending(terminated: JsonObject) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"
