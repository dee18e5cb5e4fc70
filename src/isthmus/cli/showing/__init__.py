"""The demo: two joined clusters on this machine, and the story that they tell."""
