"""Which costs have a profile with a formula."""

from __future__ import annotations

import math

from deniable.accounting.cost_terms import CostTerms, terms
from deniable.accounting.gaussian_profiles import DiscreteGaussianProfile, GaussianProfile
from deniable.accounting.measures.pure import odds
from deniable.accounting.profiles import (
    ClosedProfile,
    LeakingProfile,
    MixedProfile,
    NothingProfile,
    SampledProfile,
    WorstProfile,
)
from deniable.accounting.pure_profiles import (
    BinomialProfile,
    DiscreteLaplaceProfile,
    LaplaceProfile,
    PureLoss,
    RangeProfile,
    ResponseProfile,
    TruncatedLaplaceProfile,
)
from deniable.cost import (
    Bounded,
    Cost,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    Mixed,
    Neighbours,
    Parallel,
    RandomizedResponse,
    Sampled,
    Sampling,
    TruncatedLaplace,
)


def _present_or_not(cost: Sampled) -> bool:
    """Whether neighbours are a sample with the unit and the same without it (or with another in its place)."""
    if cost.how is Sampling.POISSON:
        return cost.neighbours is not Neighbours.REPLACE
    return cost.neighbours is Neighbours.ADD_REMOVE


def _symmetric(profile: ClosedProfile) -> bool:
    """Whether both directions of the pair behind a profile have it; a sample's do not."""
    match profile:
        case SampledProfile():
            return False
        case LeakingProfile(inner):
            return _symmetric(inner)
        case WorstProfile(parts):
            return all(map(_symmetric, parts))
        case MixedProfile(parts):
            return all(_symmetric(each) for _, each in parts)
        case _:
            return True


def closed_form(cost: Cost) -> ClosedProfile | None:
    """The exact profile of a cost, or None when only a numeric one is known."""
    parts = terms(cost)
    inner = _releases(parts)
    return LeakingProfile(inner, parts.leaks) if inner is not None and parts.leaks else inner


def _releases(parts: CostTerms) -> ClosedProfile | None:
    if not parts.releases:
        return NothingProfile()
    if parts.only is not None:
        return _once(parts.only)
    return _often(*parts.releases[0]) if len(parts.releases) == 1 else None


def _often(cost: Cost, times: int) -> ClosedProfile | None:
    match cost:
        case Bounded(epsilon):
            return BinomialProfile(PureLoss(epsilon=epsilon), times)
        case RandomizedResponse(_, 2):
            return BinomialProfile(PureLoss(odds=odds(cost)), times)
        case DiscreteLaplace(scale, 1, 1):
            return BinomialProfile(PureLoss(epsilon=1 / scale), times)
        case _:
            return None


def _once(cost: Cost) -> ClosedProfile | None:
    match cost:
        case Gaussian(scale, square):
            return GaussianProfile(square / scale**2)
        case Laplace(scale, sensitivity, 1):
            return LaplaceProfile(sensitivity / scale)
        case DiscreteLaplace(scale, steps, 1):
            return DiscreteLaplaceProfile(scale, steps)
        case DiscreteGaussian(scale, square, 1, largest):
            return DiscreteGaussianProfile(scale, min(largest, math.isqrt(math.floor(square))))
        case TruncatedLaplace(scale, radius, steps):
            return TruncatedLaplaceProfile(scale, radius, steps)
        case Bounded(epsilon):
            return BinomialProfile(PureLoss(epsilon=epsilon), 1)
        case Exponential(eta):
            return RangeProfile(eta)
        case RandomizedResponse(truth, categories):
            return ResponseProfile(truth, (1 - truth) / (categories - 1))
        case Sampled(each, rate):
            inner = closed_form(each)
            return (
                SampledProfile(inner, rate)
                if inner is not None and _present_or_not(cost) and _symmetric(inner)
                else None
            )
        case Mixed(chances):
            drawn = tuple((chance, inner) for chance, each in chances if (inner := closed_form(each)) is not None)
            return MixedProfile(drawn) if len(drawn) == len(chances) else None
        case Parallel(costs):
            parts = [closed_form(each) for each in costs]
            known = tuple(each for each in parts if each is not None)
            return WorstProfile(known) if len(known) == len(parts) else None
        case _:
            return None
