"""The manifests that ship with Isthmus, wherever it is installed."""

from isthmus.install.definitions import definitions as definitions
