"""Reading costs: measures, conversions, composition, filters and calibration.

A privacy map returns a cost, a record of what happened; here it becomes a loss. Exact numbers only round up, and a float comes
as a `Bracket` that encloses the truth. Nothing is loaded before it is used: building a mechanism needs no theorem, reading its
loss does.

| what you look for | where it is |
|---|---|
| epsilon and delta of any cost, and by which theorem | `theorems`; `instance` for the lower ends |
| one definition of privacy, and how its losses compose | `measures/` |
| which definition implies which; Rényi to (epsilon, delta) | `strength`, `conversion` |
| what holds for other units and for groups | `implied`, `group_privacy` |
| delta in a closed form | `closed_forms`, made of `profiles`, `pure_profiles`, `gaussian_profiles` |
| a bound on the divergence at every order | `renyi_curves`, `renyi_sampling` |
| the privacy loss distribution | `pld/`: pairs by family, `discretization`, `spectrum`, `convolution`, `privacy_loss` |
| whole curves of a cost | `privacy_profile`, `tradeoffs`, `loss_distributions` |
| what a cost comes to; whether one is no larger than another | `cost_terms`, `adjacency`, `dominance` |
| budgets, and what may be added up along the way | `budgets`, `filters`, `side_by_side`, `spend`, `loss_grid` |
| a number solved for a target; what each of many queries may cost | `calibration`, `boundary_search`; `per_query_epsilon` |
| samples, shuffles, stopping rules as costs | `designs` |
| formulas of textbooks, to compare with | `classic`, `composition` |
| all of it in words | `explanation` |
"""

from deniable.lazy import lazy_package

lazy_package(__name__)
