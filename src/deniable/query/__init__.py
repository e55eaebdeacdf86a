"""Filled by its layer; see ARCHITECTURE.md."""
