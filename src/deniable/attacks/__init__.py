"""Attacks on made-up data: see what goes wrong without differential privacy, and what it does to each attack.

Nothing here is for real data: curators hold made-up people, and mechanisms that are wrong on purpose are no `Mechanism`.
"""

from deniable.attacks import anti_mechanisms
from deniable.attacks.anonymity import AnonymityReport, anonymity, anonymize, background
from deniable.attacks.count_attacks import (
    Guess,
    averaging,
    difference_variance,
    differencing,
    recommender_differencing,
    recover_seed,
    refusal_oracle,
    temporal_differencing,
)
from deniable.attacks.curators import Curator, MadeUpPeople, made_up_people, strawmen
from deniable.attacks.linkage import (
    LinkageReport,
    SinglingOut,
    isolates,
    linkage,
    singling_out,
    small_cells,
    uniqueness,
)
from deniable.attacks.matrix import Matrix, every, matrix
from deniable.attacks.membership import (
    CharacterModel,
    Membership,
    classification_world,
    fit_logistic,
    fit_private_logistic,
    inversion,
    membership,
)
from deniable.attacks.model_attacks import (
    ModelWorld,
    canary_exposure,
    model_inversion,
    model_likelihood_ratio,
    model_losses,
    model_membership,
    model_world,
)
from deniable.attacks.reconstruction import Reconstruction, random_groups, reconstruct, solve_tables
from deniable.attacks.tracing import Tracing, power_curve, trace, tracing_world
from deniable.lazy import named_module

named_module(__name__)

__all__ = [
    "AnonymityReport",
    "CharacterModel",
    "Curator",
    "Guess",
    "LinkageReport",
    "MadeUpPeople",
    "Matrix",
    "Membership",
    "ModelWorld",
    "Reconstruction",
    "SinglingOut",
    "Tracing",
    "anonymity",
    "anonymize",
    "anti_mechanisms",
    "averaging",
    "background",
    "canary_exposure",
    "classification_world",
    "difference_variance",
    "differencing",
    "every",
    "fit_logistic",
    "fit_private_logistic",
    "inversion",
    "isolates",
    "linkage",
    "made_up_people",
    "matrix",
    "membership",
    "model_inversion",
    "model_likelihood_ratio",
    "model_losses",
    "model_membership",
    "model_world",
    "power_curve",
    "random_groups",
    "recommender_differencing",
    "reconstruct",
    "recover_seed",
    "refusal_oracle",
    "singling_out",
    "small_cells",
    "solve_tables",
    "strawmen",
    "temporal_differencing",
    "trace",
    "tracing_world",
    "uniqueness",
]
