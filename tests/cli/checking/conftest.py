"""Tests of a module may share joined clusters, and the event loop that they run in."""

from tests.dataplane.conftest import pytest_pyfunc_call as pytest_pyfunc_call
from tests.dataplane.conftest import runner as runner
