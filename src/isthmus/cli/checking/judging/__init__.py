"""What is right and what is wrong, from what was read: pure."""
