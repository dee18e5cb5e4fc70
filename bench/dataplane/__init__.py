"""The data plane measured: how much two real Envoys can be told, and how fast they carry."""
