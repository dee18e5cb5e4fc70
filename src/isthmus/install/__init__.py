"""What an installation consists of: from values to the objects of one cluster. Pure."""

from isthmus.install.everything import objects as objects
from isthmus.install.everything import possible as possible
from isthmus.install.everything import superseded as superseded
