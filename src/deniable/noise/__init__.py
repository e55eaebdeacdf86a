"""The only place randomness comes from: `Entropy`, and exact samplers that draw from it.

Every sampler takes its parameters as exact numbers and its entropy as an argument. The law drawn equals the formula in
the docstring exactly, and the work done does not depend on what is drawn; choices among groups of candidates
(`weighted_choice`, `windowed_choice`, `flip_choice`) redraw a number of times that depends on their weights.
"""

from deniable.lazy import lazy_package

lazy_package(__name__)
