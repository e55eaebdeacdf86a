"""Rényi curves: the divergence of one release at every order above one, certified at exact orders, quick at floats."""
