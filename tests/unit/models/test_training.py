"""Training: each example's gradient is its own and cut, batches are drawn by what is charged for them, some modules refused."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest

import deniable as dp
from deniable.cost import Gaussian, Sampled
from deniable.errors import InvalidArgument
from deniable.models import Network, Training, network, torch_modules, unit_totals
from deniable.models.encoding import GRID
from deniable.models.links import LOGISTIC, MULTINOMIAL
from deniable.models.network import (
    GRADIENT_GRID,
    LARGEST,
    check_network,
    ghost_lengths,
    gradient_total,
    passed,
    shortened,
)
from deniable.models.task import TotalNoise
from deniable.models.training import BatchStep, Trainer, dealt
from deniable.models.unit_totals import PrivateRows
from deniable.testing import Seeded, Silent
from tests.models_kit import CHANGED_BOOK, UNIT_BOOK, book, codes, people, session, table, trained

try:
    import torch
except ImportError:  # the torch extra is not installed
    assert not os.environ.get("CI"), "torch must be installed where CI runs"
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="needs the torch extra")
ROWS = people(60)


def _some(count=40, width=6, outputs=1, seed=0):
    rng = np.random.default_rng(seed)  # noqa: TID251 - public test data
    features = rng.integers(-GRID, GRID + 1, (count, width)).astype(np.float64)
    truth = np.eye(max(outputs, 2))[rng.integers(0, max(outputs, 2), count)][:, -outputs:]
    return features, truth, Network((5, 3)).start(width, outputs)


def _outer(run, errors):
    return [
        [np.outer(each[row], error[row]).astype(object).ravel() for each, error in zip(run.inputs, errors, strict=True)]
        for row in range(len(errors[0]))
    ]


@pytest.mark.parametrize(("outputs", "link"), [(1, LOGISTIC), (3, MULTINOMIAL)])
def test_ghost_lengths_are_those_of_gradients_written_down(outputs, link):
    features, truth, weights = _some(outputs=outputs)
    run = passed(features, truth, weights, link)
    lengths = ghost_lengths(run)
    for row, parts in enumerate(_outer(run, run.errors)):
        square = sum(int(entry) ** 2 for part in parts for entry in part)
        assert square <= int(lengths[row]) ** 2
        assert int(lengths[row]) ** 2 <= square + 4 * int(lengths[row]) + 4


@pytest.mark.parametrize("clip", [Fraction(1, 1000), Fraction(1, 4), Fraction(100)])
def test_shortened_gradients_are_never_longer_than_the_clip(clip):
    features, truth, weights = _some()
    run, most = passed(features, truth, weights, LOGISTIC), int(clip * GRADIENT_GRID)
    for parts in _outer(run, shortened(run, most)):
        assert sum(int(entry) ** 2 for part in parts for entry in part) <= most**2


def test_a_clip_that_forgets_a_layer_is_caught():
    """The planted fault: the length of the last layer alone, as if the others had no gradient."""
    features, truth, weights = _some()
    run, most = passed(features, truth, weights, LOGISTIC), GRADIENT_GRID // 10
    last = type(run)(run.inputs[-1:], run.errors[-1:])
    length = np.maximum(ghost_lengths(last) * 64, most)[:, None]
    wrong = [np.trunc(error * 64 * most / length) for error in run.errors]
    squares = [sum(int(entry) ** 2 for part in parts for entry in part) for parts in _outer(run, wrong)]
    assert max(squares) > most**2


@pytest.mark.parametrize("units", [None, [0, 0, 1, 2, 2, 2]])
def test_one_unit_moves_a_gradient_by_at_most_the_clip(units):
    features, truth, weights = _some(count=6)
    labels = None if units is None else np.array(units)

    def total(chosen):
        starts = None if labels is None else np.flatnonzero(np.r_[True, np.diff(labels[chosen]) != 0])
        held = PrivateRows({"x": np.zeros(chosen.sum(), np.int64)}, int(chosen.sum()), starts, None)
        held.kept.update(features=features[chosen], truth=truth[chosen])
        return gradient_total(held, weights, LOGISTIC, clip_steps=most).astype(object)

    everyone = np.ones(6, dtype=bool)
    for most in (GRADIENT_GRID // 100, GRADIENT_GRID):
        whole = total(everyone)
        for unit in set(range(6) if units is None else units):
            rest = np.arange(6) != unit if units is None else labels != unit
            gap = whole - total(rest)
            assert sum(int(entry) ** 2 for entry in gap) <= most**2


def _steep(count):
    """One unit of many rows in a network whose weights are as large as they may be: every error comes back as far as it can."""
    weights = [np.full((4, 32), float(LARGEST - 1)), np.full((33, 1), -float(LARGEST - 1))]
    held = PrivateRows({"x": np.zeros(count, np.int64)}, count, np.array([0]), np.zeros(count, np.int64))
    held.kept.update(features=np.full((count, 4), float(GRID)), truth=np.ones((count, 1)))
    return held, weights


@pytest.mark.parametrize("count", [2, 100, 400, 1000, 4000])
def test_a_unit_of_many_rows_in_a_steep_network_moves_a_gradient_by_at_most_the_clip(count):
    """Squared lengths beyond 64 bits; so many rows, and this clip, are accepted."""
    held, weights = _steep(count)
    check_network((4, 32, 1), GRADIENT_GRID, count)
    moved = gradient_total(held, weights, LOGISTIC, clip_steps=GRADIENT_GRID).astype(object)
    square = sum(int(entry) ** 2 for entry in moved)
    assert (GRADIENT_GRID * 99 // 100) ** 2 <= square <= GRADIENT_GRID**2


def test_squares_that_wrap_are_caught(monkeypatch):
    """The planted fault: squared lengths added up in 64 bits alone."""

    def wrapping(vectors, norm):
        squares = (vectors * vectors).sum(axis=1)
        lengths = np.maximum(np.sqrt(np.maximum(squares, 0)).astype(np.int64) + 1, norm)[:, None]
        return np.where(squares[:, None] > norm * norm, vectors * norm // lengths, vectors)

    monkeypatch.setattr(unit_totals, "cut", wrapping)
    held, weights = _steep(400)
    moved = gradient_total(held, weights, LOGISTIC, clip_steps=GRADIENT_GRID).astype(object)
    assert sum(int(entry) ** 2 for entry in moved) > 100 * GRADIENT_GRID**2


@pytest.mark.parametrize("width", [1, 2, 3, 5, 16, 17, 250])
def test_rows_are_cut_to_their_length_whatever_their_size_and_company(width):
    """Entries around every power of two up to 2**38: never longer than the norm, hardly shorter, and the same alone as together."""
    edges = [0, *((1 << bits) + off for bits in range(39) for off in (-1, 0, 1))]
    rows = np.array([[(-1) ** place * (edge >> place % 7) for place in range(width)] for edge in edges], dtype=np.int64)
    norm = 1 << 20
    shorter = unit_totals.cut(rows, norm)
    for row, found in zip(rows, shorter, strict=True):
        length, kept = sum(int(v) ** 2 for v in row), sum(int(v) ** 2 for v in found)
        assert kept <= norm**2
        assert np.array_equal(unit_totals.cut(row[None], norm)[0], found)
        if length <= norm**2:
            assert np.array_equal(found, row)
        else:
            assert kept >= (norm - 2 * width - 2) ** 2


@pytest.mark.parametrize("width", [1, 2, 5, 17])
def test_long_rows_are_cut_to_long_norms(width):
    """The longest norms that 64 bits allow: a length that was rounded down by its last bits would leave more than the norm."""
    for bits in range(30, 60):
        entry = (2 << bits) - 1
        norm = min((1 << 61) // entry, entry // 2)
        for row in ([entry] * width, [(1 << bits) + 1] * width, [entry, *[0] * (width - 1)]):
            found = unit_totals.cut(np.array([row], dtype=np.int64), norm)[0].tolist()
            assert sum(value**2 for value in found) <= norm**2


@pytest.mark.parametrize("clip_steps", [1, 63, 1 << 38])
def test_a_clip_that_units_of_many_rows_cannot_be_cut_to_is_refused(clip_steps):
    with pytest.raises(InvalidArgument, match="clip must lie between"):
        check_network((4, 32, 1), clip_steps, 4000)


def test_a_unit_whose_rows_are_all_as_long_as_can_be_is_cut(monkeypatch):
    """A wide network and entries at their bounds: squares would leave 64 bits."""
    inputs = [np.full((3, 115), float(GRID)), np.full((3, 251), float(network.REACH))]
    run = network.Passed(inputs, [np.full((3, 250), float(network.REACH)), np.full((3, 1), float(network.REACH))])
    monkeypatch.setattr(network, "passed", lambda *_: run)
    held = PrivateRows({"x": np.zeros(3, np.int64)}, 3, np.array([0]), None)
    held.kept.update(features=inputs[0], truth=np.zeros((3, 1)))
    weights = [np.zeros((115, 250)), np.zeros((251, 1))]
    total = gradient_total(held, weights, LOGISTIC, clip_steps=GRADIENT_GRID)
    assert sum(int(entry) ** 2 for entry in total) <= GRADIENT_GRID**2


def test_the_network_learns_and_its_gradient_points_upwards():
    rows = people(3000, seed=3)
    model = Training(Network((8,)), target="smoker", steps=60, rate=Fraction(1, 8))
    fitted = trained(model, rows, multiplier=Fraction(1, 10), entropy=Seeded(5))
    test = people(1000, seed=8)
    assert (np.array(fitted.predict(test)) == np.array(test["smoker"])).mean() > 0.8
    number = Training(Network(()), target="wage", loss="squared", steps=60, rate=Fraction(1, 8))
    found = trained(number, rows, multiplier=Fraction(1, 10), entropy=Seeded(6)).predict(test)
    assert np.corrcoef(found, test["wage"])[0, 1] > 0.8


def test_the_batch_that_is_charged_is_the_batch_that_is_drawn():
    """Erratum 29: the object that states the cost draws the batch, and nothing else can be passed in."""
    step = BatchStep(Fraction(1, 4), TotalNoise.of(9, 2))
    assert step.cost() == Sampled(Gaussian(scale=6, squared_sensitivity=9), rate=Fraction(1, 4))
    rows = PrivateRows({"x": np.arange(4000)}, 4000, None, None)
    drawn = [step.draw(rows, Seeded(seed)) for seed in range(3)]
    assert all(850 < each.count < 1150 for each in drawn)
    assert len({tuple(each.codes["x"][:20]) for each in drawn}) == 3  # fresh each time
    units = PrivateRows({"x": np.arange(6)}, 6, np.array([0, 2, 5]), np.array([7, 7, 8, 8, 8, 9]))
    kept = units.taken(np.array([True, False, True]))
    assert kept.codes["x"].tolist() == [0, 1, 5]
    assert kept.starts.tolist() == [0, 2]


def test_a_step_fits_its_plan_and_the_whole_run_is_one_cost():
    asked = session(ROWS)
    model = Training(Network((3,)), target="smoker", steps=4, rate=Fraction(1, 2))
    price = model.price(asked, epsilon=1)
    assert price.steps == 5
    fitted = model.fit(asked, epsilon=1, request="net")
    assert model.fit(asked, epsilon=1) == fitted == asked.fetch("net")
    assert asked.spent.loss <= 1
    assert "poisson batches" in fitted.card()["Noise"]
    tight = dp.epsilon(price.cost, delta=price.delta).upper
    assert tight <= 1
    one = dp.epsilon(BatchStep(Fraction(1, 2), TotalNoise.of(1, price.multiplier)).cost(), delta=price.delta).upper
    assert tight < 4 * one


@pytest.mark.parametrize("text", [UNIT_BOOK, CHANGED_BOOK])
def test_other_units_are_trained_on(text):
    rows = people(40, who=text is UNIT_BOOK)
    assert Training(Network((2,)), target="smoker", steps=2, rate=Fraction(1, 2)).fit(
        session(rows, text=text), epsilon=1
    )


def test_disjoint_batches_hold_each_unit_once_and_cost_one_run():
    asked = session(ROWS)
    model = Training(Network((2,)), target="smoker", steps=8, rate=Fraction(1, 4), batches="disjoint")
    assert model.turns() == 2
    price = model.price(asked, epsilon=1)
    whole = Training(Network((2,)), target="smoker", steps=2, rate=1).price(asked, epsilon=1)
    assert price.multiplier == pytest.approx(whole.multiplier)
    assert model.fit(asked, epsilon=1).noise.startswith("disjoint")
    reading = model.reading(book())
    parts = dealt(PrivateRows.of(table(reading, codes(ROWS))), 4)
    assert sum(part.count for part in parts) == 60


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"rate": 0}, "rate"),
        ({"rate": Fraction(3, 2)}, "rate"),
        ({"steps": 0}, "steps"),
        ({"clip": 0}, "clip"),
        ({"clip": 2**30}, "clip is too large"),
        ({"loss": "hinge"}, "loss must be"),
        ({"target": ""}, "target must name"),
        ({"target": "town"}, "two classes"),
        ({"momentum": 1}, "momentum"),
        ({"batches": "shuffled"}, "batches must be"),
        ({"batches": "disjoint", "rate": Fraction(2, 3)}, "one over a whole number"),
        ({"features": ["smoker"]}, "cannot be a feature"),
    ],
)
def test_bad_settings_are_refused_for_nothing(settings, text):
    asked = session(ROWS)
    with pytest.raises(InvalidArgument, match=text):
        Training(Network((2,)), **{"target": "smoker", **settings}).fit(asked, epsilon=1)
    assert asked.spent.loss == 0


@pytest.mark.parametrize("hidden", [5, (0,), "ab"])
def test_bad_layers_are_refused(hidden):
    with pytest.raises((InvalidArgument, TypeError)):
        Network(hidden)


def test_a_wide_network_is_refused_before_anything_is_spent():
    with pytest.raises(InvalidArgument, match=r"2\*\*53"):
        Training(Network((2**24,)), target="smoker").price(session(ROWS), epsilon=1)


# Torch ----------------------------------------------------------------------------------------------------------------


@needs_torch
def test_a_dense_torch_module_runs_on_whole_numbers():
    torch.manual_seed(0)
    width = Training(Network(), target="smoker").reading(book()).encoding.width
    module = torch.nn.Sequential(torch.nn.Linear(width, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)).double()
    model = Training(module, target="smoker", steps=40, rate=Fraction(1, 4))
    rows = people(1000, seed=4)
    fitted = trained(model, rows, multiplier=Fraction(1, 10), entropy=Seeded(1))
    assert "whole numbers" in fitted.noise
    assert (np.array(fitted.predict(rows)) == np.array(rows["smoker"])).mean() > 0.75
    again = fitted.load(module)
    from deniable.models.encoding import Encoding

    columns = torch.from_numpy(Encoding(fitted.features).public_matrix(rows) / GRID)
    chance = torch.sigmoid(again(columns)).detach().numpy()[:, 0]
    assert np.abs(chance - fitted.probabilities(rows)[:, 1]).max() < 0.02


@needs_torch
def test_any_other_module_is_trained_one_example_at_a_time():
    torch.manual_seed(0)
    width = Training(Network(), target="smoker").reading(book()).encoding.width
    module = torch.nn.Sequential(
        torch.nn.LayerNorm(width), torch.nn.Linear(width, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)
    ).double()
    model = Training(module, target="smoker", steps=3, rate=Fraction(1, 2))
    asked = session(ROWS)
    fitted = model.fit(asked, epsilon=1)
    assert "one example at a time" in fitted.card()["Noise"]
    assert sum(parameter.numel() for parameter in fitted.load(module).parameters()) == len(fitted.weights)
    with pytest.raises(InvalidArgument, match="load"):
        fitted.predict(ROWS)
    trainer = Trainer.of(model, model.reading(book()))
    held = PrivateRows.of(table(trainer.reading, codes(ROWS)[:4]))
    trainer.prepare(held)
    most = 1 << 14
    whole = trainer.path.total(held, trainer.path.start(), most)
    for out in range(4):
        rest = trainer.path.total(held.taken(np.arange(4) != out), trainer.path.start(), most)
        assert sum(int(entry) ** 2 for entry in (whole - rest).astype(object)) <= most**2
    broken = trainer.path._cut(np.array([np.nan, np.inf, -np.inf, 1e300]), most)
    assert sum(int(entry) ** 2 for entry in broken.astype(object)) <= most**2


@needs_torch
@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (lambda: torch.nn.BatchNorm1d(3), "BatchNorm1d, which mixes rows"),
        (lambda: torch.nn.SyncBatchNorm(3), "SyncBatchNorm, which mixes rows"),
        (lambda: torch.nn.InstanceNorm1d(3), "InstanceNorm1d, which mixes rows"),
        (lambda: torch.nn.Dropout(), "Dropout, which draws"),
    ],
)
def test_layers_that_mix_rows_are_refused_by_name(layer, text):
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), layer(), torch.nn.Linear(3, 1)).double()
    with pytest.raises(InvalidArgument, match=text):
        Training(module, target="smoker")


@needs_torch
def test_modules_of_the_wrong_type_or_shape_are_refused():
    with pytest.raises(InvalidArgument, match="float64"):
        Training(torch.nn.Linear(3, 1), target="smoker")
    with pytest.raises(InvalidArgument, match=r"Network or a torch module"):
        Training("net", target="smoker")
    wrong = torch.nn.Sequential(torch.nn.Linear(3, 1)).double()
    with pytest.raises(InvalidArgument, match="takes 3 columns"):
        Training(wrong, target="smoker").price(session(ROWS), epsilon=1)
    for kind in (torch.float16, torch.float32):
        with pytest.raises(InvalidArgument, match="float64"):
            Training(torch.nn.Linear(3, 1).to(kind), target="smoker")
    alone = torch.nn.Linear(WIDTH, 1).double().requires_grad_(False)
    with pytest.raises(InvalidArgument, match="no weights to train"):
        Training(torch.nn.Sequential(torch.nn.Tanh(), alone), target="smoker").price(session(ROWS), epsilon=1)


WIDTH = Training(Network(), target="smoker").reading(book()).encoding.width


def _dense(*, first=0.1, last=0.1):
    module = torch.nn.Sequential(torch.nn.Linear(WIDTH, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)).double()
    with torch.no_grad():
        module[0].weight.fill_(first)
        module[2].weight.fill_(last)
    return module


@needs_torch
@pytest.mark.parametrize("weight", [float("nan"), float("inf"), 65.0, -1e9])
@pytest.mark.parametrize("place", ["first", "last"])
def test_weights_beyond_the_exact_range_are_refused_for_nothing(weight, place):
    """Sizes are checked for weights of at most 64, so a module may not begin with larger ones."""
    asked = session(ROWS)
    with pytest.raises(InvalidArgument, match=r"at most 64|finite"):
        Training(_dense(**{place: weight}), target="smoker").fit(asked, epsilon=1)
    assert asked.spent.loss == 0


SEEN = []


def _odd(kind):
    """A module whose answer for a row depends on more than the row."""

    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.count = torch.nn.Linear(WIDTH, 1).double(), 0
            self.register_buffer("mean", torch.zeros(1, dtype=torch.float64))

        def forward(self, x):
            match kind:
                case "counter":
                    self.count += 1
                    x = x * self.count
                case "running mean":
                    self.mean = self.mean + x.mean().detach()
                    x = x + self.mean
                case "global":
                    SEEN.append(1)
                    x = x * len(SEEN)
                case "dropout":
                    x = torch.nn.functional.dropout(x, 0.5)
                case "numpy":
                    x = x * np.random.random()  # noqa: TID251 - what a module of somebody else may do
                case "error" if float(x[0, 1]) > 0:
                    raise ValueError("a row")
                case "shape" if float(x[0, 1]) > 0:
                    return self.layer(x)[0]
            return self.layer(x)

    return Odd()


def _shared():
    """One layer twice: its gradient is the sum of both, which dense layers apart would not give."""
    layer = torch.nn.Linear(WIDTH, WIDTH).double()
    return torch.nn.Sequential(layer, torch.nn.ReLU(), layer, torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1)).double()


def _frozen():
    module = _dense()
    module[0].weight.requires_grad_(False)
    return module


def _spectral():
    norm = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(WIDTH, 3))
    return torch.nn.Sequential(norm, torch.nn.Tanh(), torch.nn.Linear(3, 1)).double()


ALONE = {
    "counter": lambda: _odd("counter"),
    "running mean": lambda: _odd("running mean"),
    "error": lambda: _odd("error"),
    "shape": lambda: _odd("shape"),
    "shared layer": _shared,
    "frozen layer": _frozen,
    "spectral norm": _spectral,
}


@needs_torch
@pytest.mark.parametrize("name", ALONE)
def test_every_row_meets_a_module_as_if_it_were_the_first(name):
    """State kept between calls, layers used twice, code that fails at a row: one row more moves a total by at most the clip."""
    torch.manual_seed(0)
    model = Training(ALONE[name](), target="smoker")
    trainer = Trainer.of(model, model.reading(book()))
    assert "one example at a time" in trainer.path.said
    held, most = PrivateRows.of(table(trainer.reading, codes(ROWS)[:6])), 1 << 14
    trainer.prepare(held)
    start = trainer.path.start()
    whole = trainer.path.total(held, start, most)
    alone = [trainer.path.total(held.taken(np.arange(6) == row), start, most) for row in range(6)]
    assert np.array_equal(whole, sum(alone))  # what a row adds is its own
    assert all(0 <= sum(int(entry) ** 2 for entry in each.astype(object)) <= most**2 for each in alone)
    assert any(each.any() for each in alone)
    assert len(start) == sum(weight.numel() for weight in model.module.parameters() if weight.requires_grad)


@needs_torch
@pytest.mark.parametrize(
    ("kind", "text"), [("global", "rows before it"), ("numpy", "rows before it"), ("dropout", "random numbers")]
)
def test_modules_that_are_no_function_of_a_row_are_refused_for_nothing(kind, text):
    asked = session(ROWS)
    with pytest.raises(InvalidArgument, match=text):
        Training(_odd(kind), target="smoker").fit(asked, epsilon=1)
    assert asked.spent.loss == 0


@needs_torch
@pytest.mark.parametrize("place", ["", "0", "2"])
def test_a_forward_put_on_an_object_is_refused_by_name(place):
    """It computes something else than its class says, and what it holds is nobody's to put back."""
    module, seen = _dense(), []
    layer = module.get_submodule(place)
    plain = layer.forward
    layer.forward = lambda x: plain(x) * (1 + len(seen))
    with pytest.raises(InvalidArgument, match=f"layer '{place}', a .*forward"):
        Training(module, target="smoker")


@needs_torch
def test_state_that_is_left_behind_is_caught(monkeypatch):
    """The planted fault: the module itself meets every row, not a copy as it was."""
    monkeypatch.setattr(torch_modules, "_keeps_nothing", lambda module: True)
    with pytest.raises(InvalidArgument, match="rows before it"):
        Training(_odd("running mean"), target="smoker").price(session(ROWS), epsilon=1)


def test_gradient_descent_from_first_principles_costs_what_the_book_says_or_less():
    """The book's forty steps: rho = 0.004 in all, epsilon 0.466 at delta 1e-8; read as one normal curve it is 0.4385."""
    one = dp.costs.Gaussian(scale=100, sensitivity=1)
    steps = 80
    run = one.repeated(steps)
    rho = dp.accounting.ZeroConcentrated().read(run).loss
    assert rho == Fraction(4, 1000)
    assert dp.epsilon(dp.costs.Concentrated(rho=rho), delta=1e-8).upper == pytest.approx(0.466, abs=0.001)
    assert dp.epsilon(run, delta=1e-8).upper == pytest.approx(0.43847, abs=2e-5)


def test_silence_is_no_noise():
    step = BatchStep(Fraction(1), TotalNoise.of(1, 3))
    rows = PrivateRows({"x": np.arange(5)}, 5, None, None)
    space = Training(Network(), target="smoker").reading(book()).space
    assert step.release(space, lambda held: np.array([held.count])).function(rows, Silent()).tolist() == [5]
