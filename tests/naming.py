"""Names of test cases that are the same in every process, as running on two cores needs."""

from __future__ import annotations

import re


def case(value: object, most: int = 200) -> str:
    """What a value looks like, without the address it has in memory."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))[:most]
