"""The edge between clusters: serving Exports, and following those of another cluster."""
