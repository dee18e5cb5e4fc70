"""Looks at what is there: gateways, exports and mirrors, traffic, versions. Changes nothing."""
