"""Histories that hypothesis makes up, beside a model of what must become of them."""
