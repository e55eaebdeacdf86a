"""Tests of deniable. A package, so that no other installed package of this name is found first."""
