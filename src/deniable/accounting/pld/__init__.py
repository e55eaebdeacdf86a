"""Privacy loss distributions, computed with certified bounds from both sides.

`delta` and `epsilon` read any cost that has dominating pairs; `PrivacyLoss` keeps the pairs for further questions. All of it
loads when the first loss is asked for that has no closed form.
"""

from deniable.lazy import lazy_package

lazy_package(__name__)
