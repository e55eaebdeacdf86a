"""Convolutions: lengths are those of written gradients, a unit moves a total by at most the clip, torch gives the same scores."""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.models import Convolution, Network, Training, image_layer
from deniable.models.encoding import GRID
from deniable.models.image_layer import ConvolutionPath, patch_squares
from deniable.models.links import LOGISTIC
from deniable.models.network import GRADIENT_GRID, LARGEST
from deniable.models.unit_totals import PrivateRows

try:
    import torch
except ImportError:  # the torch extra is not installed
    assert not os.environ.get("CI"), "torch must be installed where CI runs"
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="needs the torch extra")
IMAGE = Convolution((4, 4), filters=3, window=2, stride=2)
PIXELS = [f"p{place}" for place in range(16)]


def _path(image=IMAGE, steep=False):
    net = Network((5,), image)
    dense = net.start(image.outputs, 1)
    begin = np.concatenate([matrix.ravel() for matrix in (image.start(), *dense)])
    if steep:  # dense weights as large as they may be: every error comes back as far as it can
        begin[image.size :] = np.sign(begin[image.size :]) * (LARGEST - 1.0)
    return ConvolutionPath(image, net.sizes(image.outputs, 1), begin, LOGISTIC)


def _rows(count=8, image=IMAGE, starts=None):
    rng = np.random.default_rng(3)  # noqa: TID251 - public test data
    features = rng.integers(-GRID, GRID + 1, (count, 1 + 2 * image.shape[0] * image.shape[1])).astype(np.float64)
    features[:, 0] = GRID
    held = PrivateRows({}, count, None if starts is None else np.array(starts), None)
    held.kept.update(features=features, truth=(rng.random((count, 1)) < 0.5).astype(np.float64))
    return held


def _square(vector):
    return sum(int(entry) ** 2 for entry in np.asarray(vector).ravel().astype(object))


@pytest.mark.parametrize("image", [IMAGE, Convolution((3, 3), filters=9, window=3, stride=1)])
def test_lengths_are_those_of_gradients_written_down(image):
    """Four positions and one: both ways to find a length."""
    held, path = _rows(image=image), _path(image)
    run = path.run(held.kept["features"], held.kept["truth"], path.begin)
    lengths = run.lengths()
    for row in range(held.count):
        parts = [run.patches[row].T @ run.errors[row]]
        parts += [np.outer(a[row], e[row]) for a, e in zip(run.dense.inputs, run.dense.errors, strict=True)]
        square = sum(_square(part) for part in parts)
        assert square <= int(lengths[row]) ** 2 <= square * 1.001 + 4 * int(lengths[row]) + 4


def test_the_two_matrices_of_positions_give_the_same_length():
    rng = np.random.default_rng(4)  # noqa: TID251 - public test data
    patches, errors = rng.integers(-99, 99, (6, 3, 5)).astype(float), rng.integers(-99, 99, (6, 3, 7)).astype(float)
    exact = [_square(one.T @ two) for one, two in zip(patches, errors, strict=True)]
    assert all(a <= b <= a * 1.001 + 1 for a, b in zip(exact, patch_squares(patches, errors), strict=True))


def _furthest(path, held, clip):
    whole = path.total(held, path.begin, clip)
    ends = np.append(np.arange(held.count) if held.starts is None else held.starts, held.count)
    moves = []
    for first, last in pairwise(ends):
        keep = np.ones(held.count, dtype=bool)
        keep[first:last] = False
        gone = int(last - first)
        starts = held.starts
        if starts is not None:
            starts = np.concatenate([starts[starts < first], starts[starts > first] - gone])
        rest = PrivateRows({}, held.count - gone, starts, None, {name: each[keep] for name, each in held.kept.items()})
        moves.append(_square(whole - path.total(rest, path.begin, clip)))
    return max(moves)


@pytest.mark.parametrize("starts", [None, [0, 3, 4]])
@pytest.mark.parametrize("steep", [False, True])
def test_one_unit_moves_a_gradient_by_at_most_the_clip(starts, steep):
    path, held = _path(steep=steep), _rows(starts=starts)
    for clip in (GRADIENT_GRID // 50, GRADIENT_GRID):
        path.check(clip, 1 if starts is None else 5)
        assert _furthest(path, held, clip) <= clip**2


def test_a_length_that_forgets_the_convolution_is_caught(monkeypatch):
    monkeypatch.setattr(image_layer, "patch_squares", lambda patches, errors: np.zeros(len(patches)))
    assert _furthest(_path(steep=True), _rows(), GRADIENT_GRID // 50) > (GRADIENT_GRID // 50) ** 2


def test_what_rounding_adds_stays_within_the_slack():
    """Errors cut towards zero can make their product with the patches longer; never by more than is set aside for it."""
    path, held, clip = _path(), _rows(200), GRADIENT_GRID // 50
    run = path.run(held.kept["features"], held.kept["truth"], path.begin)
    first, _ = run.shortened(clip)
    scaled = run.errors * run.factors(clip)[:, None, None]
    lost = np.matmul(run.patches.transpose(0, 2, 1), scaled - first)
    assert 0 < np.sqrt((lost**2).sum(axis=(1, 2))).max() <= IMAGE.slack()


def test_rows_are_each_others_strangers():
    path, held = _path(), _rows(40)
    features, truth = held.kept["features"], held.kept["truth"]
    whole = path.run(features, truth, path.begin)
    for some in (np.arange(39, -1, -1), np.array([7]), np.arange(0, 40, 3)):
        part = path.run(features[some], truth[some], path.begin)
        assert np.array_equal(part.errors, whole.errors[some])
        assert np.array_equal(part.lengths(), whole.lengths()[some])


def _session(count=400):
    rng = np.random.default_rng(0)  # noqa: TID251 - public test data
    cells = rng.integers(0, 256, (count, 16))
    bright = cells[:, :8].mean(axis=1) > cells[:, 8:].mean(axis=1)
    rows = {name: cells[:, place].tolist() for place, name in enumerate(PIXELS)} | {"up": bright.tolist()}
    known = {name: {"type": "integer", "bounds": [0, 255]} for name in PIXELS} | {"up": {"type": "boolean"}}
    book = {"name": "images", "unit": "rows", "tables": {"images": {"variables": known}}}
    return rows, dp.Dataset(rows, codebook=book).session(dp.budget(epsilon=1000, delta=1e-3))


def test_a_convolution_learns_and_says_which_path_it_took():
    rows, asked = _session()
    model = Training(Network((4,), IMAGE), target="up", steps=40, rate=Fraction(1, 4), speed=4)
    fitted = model.fit(asked, epsilon=100)
    assert "a convolution and dense layers on whole numbers" in fitted.card()["Noise"]
    assert (np.array(fitted.predict(rows)) == np.array(rows["up"])).mean() > 0.7
    assert model.fit(asked, epsilon=100) == fitted
    assert asked.score(fitted, metric="accuracy", epsilon=10).value > 0.6


@needs_torch
def test_a_torch_module_with_one_convolution_runs_on_whole_numbers():
    rows, asked = _session(200)
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 4, 4)),
        torch.nn.Conv2d(1, 3, 2, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(12, 1),
    ).double()
    fitted = Training(module, target="up", steps=5, rate=Fraction(1, 2)).fit(asked, epsilon=100)
    assert "a convolution and dense layers" in fitted.noise
    pixels = np.stack([fitted.features[place].columns(np.array(rows[name]))[:, 0] for place, name in enumerate(PIXELS)])
    chance = torch.sigmoid(fitted.load(module)(torch.from_numpy(pixels.T / GRID))).detach().numpy()[:, 0]
    assert np.abs(chance - fitted.probabilities(rows)[:, 1]).max() < 0.02


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Convolution((4,)), "height and width"),
        (lambda: Convolution((4, 4), window=5), "window must fit"),
        (lambda: Convolution((4, 4), filters=0), "filters"),
        (
            lambda: Training(Network((4,), Convolution((5, 5))), target="up").price(_session(9)[1], epsilon=1),
            "25 features",
        ),
        (lambda: Training(Network((4,), IMAGE), target="up", clip=1e-4).price(_session(9)[1], epsilon=1), "at least"),
    ],
)
def test_bad_convolutions_are_refused(make, text):
    with pytest.raises(InvalidArgument, match=text):
        make()
