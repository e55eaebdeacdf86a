"""Deciding about a release: which epsilon, for which reasons, on which evidence, and what is published about it.

Nothing here touches data: everything is computed from public facts, from releases and from what people write down.
"""

from deniable.deciding.attack_power import ATTACKS, Attack, AttackCurve, attack_curve
from deniable.deciding.checklist import Checklist, Evidence, Item
from deniable.deciding.deployments import DEPLOYMENTS, Deployment, DeploymentComparison, compare_deployments
from deniable.deciding.dossier import Dossier, dossier
from deniable.deciding.epsilon_choice import EpsilonChoice, EpsilonDecision, Harm, choose_epsilon
from deniable.deciding.information_flow import InformationFlow
from deniable.deciding.plain_words import EpsilonMeaning, explain_epsilon
from deniable.deciding.registry_entry import registry_problems

__all__ = [
    "ATTACKS",
    "DEPLOYMENTS",
    "Attack",
    "AttackCurve",
    "Checklist",
    "Deployment",
    "DeploymentComparison",
    "Dossier",
    "EpsilonChoice",
    "EpsilonDecision",
    "EpsilonMeaning",
    "Evidence",
    "Harm",
    "InformationFlow",
    "Item",
    "attack_curve",
    "choose_epsilon",
    "compare_deployments",
    "dossier",
    "explain_epsilon",
    "registry_problems",
]
