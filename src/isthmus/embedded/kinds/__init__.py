"""What a kind is: how its objects are decoded, completed and judged. Pure."""
