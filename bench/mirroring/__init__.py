"""Measures mirroring between two real API servers, beside the same writes from a bare client.

``starts`` measures cold starts, ``settled`` what comes after them: changes, restarts and rest. Both
keep what they find in ``figures``; ``starts_report`` and ``settled_report`` say it.
"""
