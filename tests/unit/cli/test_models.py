"""Models from a shell: fit, score, show; prices are free, mistakes are one line."""

from __future__ import annotations

import json

from deniable.release.value import value_from_record
from tests.unit.cli.test_asking import place, run  # noqa: F401

ASK = ["visits.parquet", "--codebook", "visits.yaml", "--ledger", "m.ledger"]
NEW = ["--budget-epsilon", "20", "--budget-delta", "1e-6"]


def test_a_model_is_fitted_scored_and_shown(capsys, place):  # noqa: F811
    tree = ["--model", "tree", "--target", "specialty", "--features", "duration", "--set", "depth=1"]
    out, err, code = run(capsys, "fit", *ASK, *NEW, *tree, "--epsilon", "1", "--price")
    assert code == 0, err
    assert "decision tree" in out
    out, err, code = run(capsys, "fit", *ASK, *NEW, *tree, "--epsilon", "1", "--json")
    assert code == 0, err
    assert json.loads(out)["request"] == "tree-specialty"
    score = ["--model", "tree-specialty", "--metric", "accuracy", "--epsilon", "1", "--json"]
    out, err, code = run(capsys, "score", *ASK, *score)
    assert code == 0, err
    assert json.loads(out)["lower"] <= json.loads(out)["value"]
    for word in ("show", "table", "export"):
        out, err, code = run(capsys, "model", word, "m.ledger", "tree-specialty")
        assert code == 0, err
        assert "epsilon" in out or "ε" in out
    exported = json.loads(out)
    assert exported["intervals"].keys() == exported["results"].keys()
    fitted = value_from_record(exported["model"])
    assert fitted.trees[0][0].cut.feature == "duration"
    assert dict(fitted.results()) == exported["results"]
    out, err, code = run(capsys, "score", *ASK, *score[:2], "--metric", "luck", "--epsilon", "1")
    assert (code, err.count("\n")) == (1, 1)


def test_mistakes_are_one_line_for_nothing(capsys, place):  # noqa: F811
    for words in (
        ["--model", "oracle"],
        ["--model", "tree", "--target", "specialty", "--set", "depth"],
        ["--model", "tree", "--target", "specialty", "--set", "luck=1"],
        ["--model", "tree", "--target", "nowhere"],
    ):
        _, err, code = run(capsys, "fit", *ASK, *NEW, *words, "--epsilon", "1")
        assert (code, err.count("\n")) == (1, 1), words
