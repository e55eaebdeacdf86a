"""A mechanism whose running time is a private release of its own: the answer leaves after a noisy time, never before it is ready.

Whoever waits for an answer sees how long it took. Truncated Laplace noise, moved up so that it is never negative, is added to
the time and the answer is held back until then. That one unit lengthens the work by at most so much is its author's claim:
no program can prove it of a computer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from deniable import noise
from deniable.core.distance import Distance, plain
from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.core.step import Step, step
from deniable.cost import Cost, TruncatedLaplace, composed
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, nonnegative, positive
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True)
class Clock:
    """How time is read and passed, in nanoseconds; a test brings its own."""

    now: Callable[[], int] = time.monotonic_ns
    wait: Callable[[int], None] = lambda nanoseconds: time.sleep(nanoseconds / 10**9)


@step
def timed(
    space: Space,
    inner: Step[Mechanism],
    *,
    slowdown: Real,
    scale: Real,
    radius: Real,
    author: str,
    tick: Real = Fraction(1, 1000),
    clock: Clock | None = None,
) -> Mechanism:
    """`inner`, its answer held back until a noisy time has passed. All times are in seconds.

    `slowdown` is how much longer the work can take for one step more of distance, on the word of its `author`. Noise of
    `scale` within `radius`, in whole ticks, is added to `radius` and to the time the work took; so an answer waits for at most
    twice the radius and a tick.

    Guarantee: answer and elapsed time together cost `inner` and truncated Laplace noise on the time, if the claim is true.
    What remains is the precision of the machine's own waiting, which knows nothing of the data.
    """
    width = positive(tick=tick)
    steps, reach = positive(scale=scale) / width, int(positive(radius=radius) / width)
    if not reach >= 1:
        raise InvalidArgument(f"radius must be at least one tick of {float(width):g} s, got {radius!r}")
    slower, watch = nonnegative(slowdown=slowdown), clock or Clock()
    mechanism = inner.build(space)
    nanoseconds = max(1, round(width * 10**9))

    def function(data: Any, entropy: Entropy) -> Any:
        start = watch.now()
        held = reach + noise.truncated_laplace(steps, reach, entropy)
        answer = mechanism.function(data, entropy)
        taken = -((start - watch.now()) // nanoseconds)  # whole ticks, rounded up
        left = start + (taken + held) * nanoseconds - watch.now()
        if left > 0:
            watch.wait(left)
        return answer

    def cost(d_in: Distance) -> Cost:
        ticks = ceil(slower * plain(d_in) / width)
        return composed([mechanism.privacy_map(d_in), TruncatedLaplace(scale=steps, radius=reach, sensitivity=ticks)])

    claims = (*mechanism.claims, f"{author}: one step of distance takes at most {float(slower):g} s more")
    return Mechanism(space, function, cost, mechanism.utility, claims)
