"""Pictures from plain numbers: what an object's `.plot()` draws once it has computed what there is to see.

Imported inside `.plot()` methods only, so that nobody who draws nothing loads a line of this. `losses` draws what accounting
reads, `answers` what was released.
"""

from deniable.svg import Figure

__all__ = ["Figure"]
