"""Counts what the servers have answered to the contract; whoever runs the tests is told."""

from collections import Counter

import pytest

from lab.versions import CONTROL_PLANE

IS_BUILT = all(binary.is_built for binary in CONTROL_PLANE)
HOW_TO_BUILD = "kube-apiserver is not built here; `make test-real` builds it and runs these"
BACKENDS = ("in-process", "http", "real")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which servers were asked, how many cases each, and how to ask the missing one."""
    passed, failed = (
        Counter(_backend(report) for report in terminalreporter.getreports(outcome))
        for outcome in ("passed", "failed")
    )
    asked = [name for name in BACKENDS if passed[name] + failed[name]]
    if not asked and IS_BUILT:
        return
    terminalreporter.section("the contract of the Kubernetes API")
    for name in asked:
        broken = f", {failed[name]} broken" if failed[name] else ""
        terminalreporter.line(f"{name}: {passed[name]} cases hold{broken}")
    if not IS_BUILT:
        terminalreporter.line(f"real: {HOW_TO_BUILD}")


def _backend(report: pytest.TestReport) -> str | None:
    return str(dict(report.user_properties).get("backend")) if report.when == "call" else None
