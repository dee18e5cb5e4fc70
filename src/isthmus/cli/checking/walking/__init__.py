"""The way of a call, step by step, from what was read: pure. The first broken step counts."""
