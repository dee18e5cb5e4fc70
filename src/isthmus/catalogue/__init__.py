"""The edge between controllers: a cluster's exports, offered to others and followed by them."""
