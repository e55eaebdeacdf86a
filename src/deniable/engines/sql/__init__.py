"""One SQL generator for all engines: plans become SQLGlot trees, a small profile per engine says the rest."""
