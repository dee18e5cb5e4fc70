"""The controller as a whole, on embedded clusters and on real ones."""
