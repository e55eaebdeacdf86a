"""Convolutions and embeddings: lengths of gradients, one unit moves a total by at most the clip, torch gives the same scores."""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.models import Convolution, Embedding, Network, Training, image_layer
from deniable.models.encoding import GRID
from deniable.models.image_layer import SharedPath, front_start, place_squares, rounding
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
TWO = Convolution((5, 5), filters=3, window=2, stride=1).then(filters=4, window=2, stride=2)
THREE = Convolution((6, 6), filters=2, window=2, stride=1).then(3, 3, 1).then(2, 2, 1)
WORDS = Embedding(3, 5, size=2)
FRONTS = {"one": IMAGE, "two": TWO, "three": THREE, "embedding": WORDS}
PIXELS = [f"p{place}" for place in range(16)]


def _path(image=IMAGE, steep=False):
    net = Network((5,), image)
    begin = np.concatenate([front_start(image), *(matrix.ravel() for matrix in net.start(image.outputs, 1))])
    if steep:  # weights behind the first layer as large as they may be: every error comes back as far as it can
        size = image.chain()[0].size
        begin[size:] = np.sign(begin[size:]) * (LARGEST - 1.0)
    return SharedPath(image, net.sizes(image.outputs, 1), begin, LOGISTIC)


def _features(count, image, rng):
    if isinstance(image, Embedding):
        words = rng.integers(-1, image.values, (count, image.columns))  # -1: a value that nobody listed
        features = (words[:, :, None] == np.arange(image.values)).reshape(count, -1) * float(GRID)
        return np.concatenate([np.full((count, 1), float(GRID)), features], axis=1)
    while image.earlier is not None:
        image = image.earlier
    features = rng.integers(-GRID, GRID + 1, (count, 1 + 2 * image.shape[0] * image.shape[1])).astype(np.float64)
    features[:, 0] = GRID
    return features


def _rows(count=8, image=IMAGE, starts=None):
    rng = np.random.default_rng(3)  # noqa: TID251 - public test data
    held = PrivateRows({}, count, None if starts is None else np.array(starts), None)
    held.kept.update(features=_features(count, image, rng), truth=(rng.random((count, 1)) < 0.5).astype(np.float64))
    return held


def _run(path, held, some=slice(None)):
    return path.run(held.kept["features"][some], held.kept["truth"][some], path.begin, path.image.chain())


def _written(run, row):
    """One row's gradient, written down layer by layer."""
    parts = [each[row].T @ error[row] for each, error in zip(run.seen, run.errors, strict=True)]
    return parts + [np.outer(a[row], e[row]) for a, e in zip(run.dense.inputs, run.dense.errors, strict=True)]


def _square(vector):
    return sum(int(entry) ** 2 for entry in np.asarray(vector).ravel().astype(object))


@pytest.mark.parametrize("image", [*FRONTS.values(), Convolution((3, 3), filters=9, window=3, stride=1)], ids=str)
def test_lengths_are_those_of_gradients_written_down(image):
    """Many places and one: both ways to find a length."""
    held, path = _rows(image=image), _path(image)
    run = _run(path, held)
    lengths = run.lengths()
    for row in range(held.count):
        square = sum(_square(part) for part in _written(run, row))
        assert square <= int(lengths[row]) ** 2 <= square * 1.001 + 4 * int(lengths[row]) + 4


def test_the_two_matrices_of_places_give_the_same_length():
    rng = np.random.default_rng(4)  # noqa: TID251 - public test data
    seen, errors = rng.integers(-99, 99, (6, 3, 5)).astype(float), rng.integers(-99, 99, (6, 3, 7)).astype(float)
    exact = [_square(one.T @ two) for one, two in zip(seen, errors, strict=True)]
    assert all(a <= b <= a * 1.001 + 1 for a, b in zip(exact, place_squares(seen, errors), strict=True))


@pytest.mark.parametrize("name", FRONTS)
def test_gradients_are_those_of_the_network(name):
    """Beside torch in floating point: the errors that come back through several layers are the right ones."""
    pytest.importorskip("torch")
    path, held = _path(FRONTS[name]), _rows(image=FRONTS[name])
    run = _run(path, held)
    for row in range(held.count):
        found = np.concatenate([part.ravel() for part in _written(run, row)]) / GRID**2
        wanted = _by_torch(path, held.kept["features"][row], held.kept["truth"][row])
        assert np.abs(found - wanted).max() < 0.03 * np.abs(wanted).max() + 0.01


def _by_torch(path, features, truth):
    flat = torch.tensor(path.begin / 4096, requires_grad=True)
    here, place = torch.tensor(features / GRID), 0
    for each in path.image.chain():
        seen = here[torch.tensor(each.places)]
        found = (seen @ flat[place : place + each.size].reshape(each.shape)).reshape(-1)
        here = torch.cat([torch.relu(found) if each.positive else found, torch.ones(1, dtype=torch.float64)])
        place += each.size
    for left in range(len(path.sizes) - 2, -1, -1):
        size = len(here), path.sizes[-1 - left]
        here = here @ flat[place : place + size[0] * size[1]].reshape(size)
        here = torch.cat([torch.relu(here), torch.ones(1, dtype=torch.float64)]) if left else here
        place += size[0] * size[1]
    loss = torch.nn.functional.binary_cross_entropy_with_logits(here, torch.tensor(truth))
    loss.backward()
    return -flat.grad.numpy()


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
@pytest.mark.parametrize("name", FRONTS)
def test_one_unit_moves_a_gradient_by_at_most_the_clip(name, starts, steep):
    path, held = _path(FRONTS[name], steep=steep), _rows(image=FRONTS[name], starts=starts)
    for clip in (GRADIENT_GRID // 50, GRADIENT_GRID):
        if clip == GRADIENT_GRID:
            path.check(clip, 1 if starts is None else 5)
        assert 0 < _furthest(path, held, clip) <= clip**2


@pytest.mark.parametrize("name", FRONTS)
def test_a_length_that_forgets_a_layer_is_caught(name, monkeypatch):
    """The planted fault, for each layer of shared weights in turn: the gradient is longer than its length says."""
    path, held, honest = _path(FRONTS[name], steep=True), _rows(image=FRONTS[name]), place_squares
    run = _run(path, held)
    exact = [sum(_square(part) for part in _written(run, row)) for row in range(held.count)]
    assert all(square <= int(length) ** 2 for square, length in zip(exact, run.lengths(), strict=True))
    for forgotten in run.errors:
        monkeypatch.setattr(
            image_layer, "place_squares", lambda seen, errors, no=forgotten: honest(seen, errors) * (errors is not no)
        )
        assert any(square > int(length) ** 2 for square, length in zip(exact, run.lengths(), strict=True))


@pytest.mark.parametrize("name", FRONTS)
def test_what_rounding_adds_stays_within_what_is_set_aside(name):
    """Errors cut towards zero can make their product with what is seen longer; never by more than the row sets aside."""
    path, held, clip = _path(FRONTS[name]), _rows(200, FRONTS[name]), GRADIENT_GRID // 50
    run = _run(path, held)
    shared, _ = run.shortened(clip)
    for seen, error, first in zip(run.seen, run.errors, shared, strict=True):
        lost = np.matmul(seen.transpose(0, 2, 1), error * run.factors(clip)[:, None, None] - first)
        lengths = np.sqrt((lost**2).sum(axis=(1, 2)))
        assert lengths.max() > 0
        assert (lengths <= rounding(seen, error)).all()


@pytest.mark.parametrize("name", FRONTS)
def test_rows_are_each_others_strangers(name):
    path, held = _path(FRONTS[name]), _rows(40, FRONTS[name])
    whole = _run(path, held)
    for some in (np.arange(39, -1, -1), np.array([7]), np.arange(0, 40, 3)):
        part = _run(path, held, some)
        assert all(np.array_equal(one, other[some]) for one, other in zip(part.errors, whole.errors, strict=True))
        assert np.array_equal(part.factors(1 << 20), whole.factors(1 << 20)[some])


def _session(count=400):
    rng = np.random.default_rng(0)  # noqa: TID251 - public test data
    cells = rng.integers(0, 256, (count, 16))
    bright = cells[:, :8].mean(axis=1) > cells[:, 8:].mean(axis=1)
    rows = {name: cells[:, place].tolist() for place, name in enumerate(PIXELS)} | {"up": bright.tolist()}
    known = {name: {"type": "integer", "bounds": [0, 255]} for name in PIXELS} | {"up": {"type": "boolean"}}
    book = {"name": "images", "unit": "rows", "tables": {"images": {"variables": known}}}
    return rows, dp.Dataset(rows, codebook=book).session(dp.budget(epsilon=1000, delta=1e-3))


@pytest.mark.slow
def test_a_convolution_learns_and_says_which_path_it_took():
    rows, asked = _session()
    model = Training(Network((16,), IMAGE), target="up", steps=40, rate=Fraction(1, 4), speed=2)
    fitted = model.fit(asked, epsilon=100)
    assert "convolutions and dense layers on whole numbers" in fitted.card()["Noise"]
    assert (np.array(fitted.predict(rows)) == np.array(rows["up"])).mean() > 0.7
    assert model.fit(asked, epsilon=100) == fitted
    assert asked.score(fitted, metric="accuracy", epsilon=10).value > 0.6


def _pixels(fitted, rows):
    cells = [fitted.features[place].columns(np.array(rows[name]))[:, 0] for place, name in enumerate(PIXELS)]
    return torch.from_numpy(np.stack(cells).T / GRID)


@needs_torch
@pytest.mark.parametrize("several", [False, True])
def test_a_torch_module_with_convolutions_runs_on_whole_numbers(several):
    rows, asked = _session(200)
    torch.manual_seed(0)
    layers = [torch.nn.Unflatten(1, (1, 4, 4)), torch.nn.Conv2d(1, 3, 2, stride=1 if several else 2), torch.nn.ReLU()]
    layers += [torch.nn.Conv2d(3, 3, 2), torch.nn.ReLU()] if several else []
    module = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(12, 1)).double()
    fitted = Training(module, target="up", steps=5, rate=Fraction(1, 2)).fit(asked, epsilon=100, request="net")
    assert asked.fetch("net") == fitted
    assert "convolutions and dense layers" in fitted.noise
    chance = torch.sigmoid(fitted.load(module)(_pixels(fitted, rows))).detach().numpy()[:, 0]
    assert np.abs(chance - fitted.probabilities(rows)[:, 1]).max() < 0.02


def _words(count=300):
    rng = np.random.default_rng(0)  # noqa: TID251 - public test data
    cells = rng.integers(0, 5, (count, 3))
    rows = {f"w{place}": [f"word {cell}" for cell in cells[:, place]] for place in range(3)}
    rows["up"] = ((cells == 1).sum(axis=1) > (cells == 2).sum(axis=1)).tolist()
    listed = {"type": "string", "categories": [f"word {cell}" for cell in range(5)]}
    known = {**{f"w{place}": listed for place in range(3)}, "up": {"type": "boolean"}}
    book = {"name": "texts", "unit": "rows", "tables": {"texts": {"variables": known}}}
    return cells, rows, dp.Dataset(rows, codebook=book).session(dp.budget(epsilon=1000, delta=1e-3))


@needs_torch
def test_a_torch_embedding_runs_on_whole_numbers():
    cells, rows, asked = _words()
    torch.manual_seed(0)
    layers = torch.nn.Embedding(5, 2), torch.nn.Flatten(), torch.nn.Linear(6, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)
    module = torch.nn.Sequential(*layers).double()
    fitted = Training(module, target="up", steps=30, rate=Fraction(1, 2), speed=4).fit(asked, epsilon=100)
    assert "an embedding and dense layers on whole numbers" in fitted.card()["Noise"]
    chance = torch.sigmoid(fitted.load(module)(torch.from_numpy(cells))).detach().numpy()[:, 0]
    assert np.abs(chance - fitted.probabilities(rows)[:, 1]).max() < 0.02
    assert ((chance > 0.5) == rows["up"]).mean() > 0.75
    own = Training(Network((4,), WORDS), target="up", steps=30, rate=Fraction(1, 2), speed=4).fit(asked, epsilon=100)
    assert (np.array(own.predict(rows)) == np.array(rows["up"])).mean() > 0.75


@needs_torch
@pytest.mark.parametrize(
    "change",
    [
        lambda layers: [torch.nn.Unflatten(-1, (1, 4, 4)), *layers[1:]],
        lambda layers: [torch.nn.Unflatten(1, (1, -1, 4)), *layers[1:]],
        lambda layers: [torch.nn.Unflatten(1, (1, 2, 8)), torch.nn.Conv2d(1, 3, (1, 2), stride=2), *layers[2:]],
        lambda layers: [layers[0], torch.nn.Conv2d(1, 3, 2, stride=2, bias=False, padding="valid"), *layers[2:]],
        lambda layers: [*layers[:3], torch.nn.Flatten(2), *layers[4:]],
        lambda layers: [*layers[:2], torch.nn.Tanh(), *layers[3:]],
        lambda layers: [torch.nn.Flatten(), *layers],
        lambda layers: layers[:-1],
    ],
)
def test_modules_in_other_forms_are_not_taken_for_ours(change):
    """They take pixels alone, without the constant and the logarithms of our columns, so one row of ours does not fit."""
    layers = [torch.nn.Unflatten(1, (1, 4, 4)), torch.nn.Conv2d(1, 3, 2, stride=2), torch.nn.ReLU()]
    layers += [torch.nn.Flatten(), torch.nn.Linear(12, 1)]
    _, asked = _session(9)
    with pytest.raises(InvalidArgument, match=r"one row|gives"):
        Training(torch.nn.Sequential(*change(layers)).double(), target="up").fit(asked, epsilon=1)
    assert asked.spent.loss == 0


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
        (lambda: IMAGE.then(window=3), "window must fit"),
        (lambda: Convolution((3, 3), earlier=IMAGE), "gives an image"),
        (lambda: Embedding(0, 2), "columns"),
        (
            lambda: Training(Network((4,), WORDS), target="up").price(_session(9)[1], epsilon=1),
            "3 features of 5 categories",
        ),
        (lambda: Training(Network((4,), "image"), target="up"), "Convolution or an Embedding"),
    ],
)
def test_bad_convolutions_are_refused(make, text):
    with pytest.raises(InvalidArgument, match=text):
        make()
