"""What the tests of proxies' configuration share."""
