"""The controller of a cluster: reads other clusters, and keeps their mirrors in this one."""
