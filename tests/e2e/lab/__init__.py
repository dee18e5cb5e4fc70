"""Stories on real clusters: what a user types, and what must be seen."""
