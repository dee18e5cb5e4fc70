"""Things that go wrong at the boundary, on purpose and on demand."""
