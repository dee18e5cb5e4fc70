"""The catalogue measured: from one process through a real gateway to another."""
