"""Shows what is there: gateways, exports, mirrors and their traffic."""
