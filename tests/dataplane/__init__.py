"""The whole way of a call: controllers, catalogues and real Envoys between embedded clusters."""
