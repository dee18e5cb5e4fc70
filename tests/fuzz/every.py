"""All fuzz targets, by name."""

from tests.fuzz.target import targets
from tests.fuzz.targets import embedded, handed, kube, meshed, model, pki

ROOMS = (embedded, handed, kube, meshed, model, pki)  # each makes its targets known
TARGETS = targets()
