"""deniable: differential privacy, sound to the last bit."""
