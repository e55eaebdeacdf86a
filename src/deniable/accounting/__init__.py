"""Reading costs: measures, conversions, composition, filters and calibration.

A privacy map returns a cost, a record of what happened; here it becomes a loss. Exact numbers only round up, and a float comes
as a `Bracket` that encloses the truth. Nothing is loaded before it is used: building a mechanism needs no theorem, reading its
loss does.
"""

from deniable.lazy import lazy_package

lazy_package(__name__)
