"""Privacy profiles with a formula: enclosed exactly, no grid, no convolution."""
