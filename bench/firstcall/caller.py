"""A pod that calls a name without a pause until it is answered, and says when that was.

Its clock is that of whoever measures: both clusters are on one machine.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.trial import Failed
from lab.stage import Stage

POD = "caller"
# Says "asking" when a first call has failed, so that nobody types before somebody waits. A call
# that comes after the name and before its rules gets no answer at all, not even a refusal: what it
# waits for must be short, or it is what is measured.
LOOP = """\
while read -r url; do
  told=
  until curl -sf --connect-timeout 0.05 -m 2 -o /dev/null "$url"; do
    [ "$told" ] || echo asking; told=1
  done
  echo answered $(date +%s.%N)
done
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls from a pod, one name after the other."""

    running: subprocess.Popen[str]

    def asks(self, url: str) -> None:
        """Let it begin; return once it has been refused for the first time."""
        self._write(url)
        if self._read() != "asking":
            raise Failed(f"{url} is answered before anything was done for it")

    def answered(self) -> float:
        """Wait for the first good answer; return when that was, in seconds since the epoch."""
        word, _, when = self._read().partition(" ")
        if word != "answered":
            raise Failed(f"the pod that calls says {word!r}")
        return float(when)

    def _write(self, line: str) -> None:
        assert self.running.stdin is not None
        self.running.stdin.write(line + "\n")
        self.running.stdin.flush()

    def _read(self) -> str:
        assert self.running.stdout is not None
        line = self.running.stdout.readline()
        if not line:
            raise Failed("the pod that calls has gone")
        return line.strip()


@contextmanager
def calling(stage: Stage, context: str) -> Iterator[Caller]:
    """Call from a pod that is there already, over one connection to it."""
    words = ("kubectl", "--context", context, "exec", "-i", POD, "--", "bash", "-c", LOOP)
    running = subprocess.Popen(
        words,
        env=stage.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Caller(running)
    finally:
        running.kill()
        running.wait()
