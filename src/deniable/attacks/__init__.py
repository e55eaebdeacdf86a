"""What a privacy claim is tried against: mechanisms that are wrong on purpose, which every check must catch."""

from deniable.attacks import anti_mechanisms

__all__ = ["anti_mechanisms"]
