"""Torch modules: what is refused, what runs on whole numbers, and gradients of one example at a time for the rest.

Torch is imported inside functions only; it is an extra.
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.models.encoding import GRID, Feature, Whole
from deniable.models.image_layer import Convolution, Embedding, Front, front_layers
from deniable.models.links import LossLink
from deniable.models.network import LARGEST, WEIGHT_STEPS
from deniable.models.unit_totals import PrivateRows, cut

Floats = NDArray[np.float64]

MIXING = ("BatchNorm", "SyncBatchNorm", "InstanceNorm", "LazyBatchNorm")
"""Layers whose output for one row depends on other rows or on running means of them."""
RANDOM = ("Dropout", "RReLU")
"""Layers that draw random numbers of their own."""


def check_module(module: Any) -> None:
    """Refuse what is no torch module, and layers that mix rows, draw random numbers or are not what their class says, by name."""
    try:
        import torch
    except ImportError:
        raise InvalidArgument(
            "module must be a dp.models.Network, or a torch module, which needs torch: pip install 'deniable[torch]'"
        ) from None
    if not isinstance(module, torch.nn.Module):
        raise InvalidArgument(f"module must be a dp.models.Network or a torch module, got {type(module).__name__}")
    for name, layer in module.named_modules():
        kind = type(layer).__name__
        if any(word in kind for word in MIXING):
            raise InvalidArgument(f"layer {name!r} is a {kind}, which mixes rows: use LayerNorm or GroupNorm instead")
        if any(word in kind for word in RANDOM):
            raise InvalidArgument(f"layer {name!r} is a {kind}, which draws random numbers of its own; leave it out")
        if "forward" in vars(layer):
            raise InvalidArgument(f"layer {name!r}, a {kind}, has a forward put on the object; write it as a class")
    kinds = {parameter.dtype for parameter in module.parameters()}
    if kinds != {torch.float64}:
        raise InvalidArgument(f"a module must hold float64 weights (module.double()), got {sorted(map(str, kinds))}")
    for name, weights in module.named_parameters():
        if torch.nn.parameter.is_lazy(weights):
            raise InvalidArgument(
                f"the weights {name!r} have no shape yet: give lazy layers their sizes, or a first public row"
            )
        if weights.device.type != "cpu":
            raise InvalidArgument(
                f"the weights {name!r} are on {weights.device.type}: training runs on the CPU (module.cpu())"
            )
        if not bool(torch.isfinite(weights).all()):
            raise InvalidArgument(f"the weights {name!r} are not all finite numbers")


def module_digest(module: Any) -> str:
    """The module's layers and weights as one hash: they decide what is trained."""
    digest = hashlib.sha256(repr(module).encode())
    for name, weights in module.state_dict().items():
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(weights.detach().cpu().numpy()).tobytes())
    frozen = [name for name, weights in module.named_parameters() if not weights.requires_grad]
    digest.update(repr(frozen).encode() if frozen else b"")
    return f"[{digest.hexdigest()[:32]}]"


Start = tuple[Front | None, tuple[int, ...], Floats]
"""What stands before the dense layers, the sizes of these, and all weights, flat and in whole steps."""


def exact_start(module: Any, features: tuple[Feature, ...], width: int, outputs: int) -> Start | None:
    """A module of dense layers with ReLU between them, after convolutions or an embedding or neither; None if it is anything else.

    Convolutions are Unflatten(1, (1, height, width)), then Conv2d without padding and ReLU as often as wanted, then Flatten(); an
    embedding is Embedding(values, size), Flatten(). Without either the first layer's bias is added to the weights of the constant
    first column, which every row of ours has.
    """
    import torch

    if type(module) is not torch.nn.Sequential or not _is_plain(module):
        return None
    front, after = _front(list(module))
    kinds = [type(layer) for layer in module][after:]
    between = [torch.nn.Linear if place % 2 == 0 else torch.nn.ReLU for place in range(len(kinds))]
    if kinds != between or len(kinds) % 2 == 0:
        return None
    if front is not None:
        front.check(features)
    linear: list[Any] = list(module)[after::2]
    if any(layer.bias is None for layer in linear[front is None :]):
        return None  # our layers have a constant column each; of the first one it is the intercept
    wide = width if front is None else front.outputs - 1
    if linear[0].in_features != wide or linear[-1].out_features != outputs:
        said = "these features have" if front is None else "its first layers give"
        raise InvalidArgument(
            f"the module takes {number_of(linear[0].in_features, 'column')} to {linear[-1].out_features}; {said} "
            f"{number_of(wide, 'column')}{' (an intercept first)' if front is None else ''} and the loss needs {outputs}"
        )
    dense = [_with_bias(layer.weight.detach().numpy().T, layer.bias) for layer in linear]
    if front is None:
        dense[0][0] += dense[0][-1]
        dense[0] = dense[0][:-1]
    else:
        dense[0] = dense[0][_turned(front)]
    shared = [_shared_matrix(layer) for layer in list(module)[:after] if hasattr(layer, "weight")]
    flat = np.rint(np.concatenate([matrix.ravel() for matrix in (*shared, *dense)]) * WEIGHT_STEPS)
    if not np.abs(flat).max(initial=0) <= LARGEST:
        raise InvalidArgument(f"weights of the module must be numbers of at most {LARGEST // WEIGHT_STEPS} in size")
    return front, (dense[0].shape[0], *(matrix.shape[1] for matrix in dense)), flat


def _is_plain(module: Any) -> bool:
    """Whether layers are what their names say, and every weight belongs to one of them and is to be trained."""
    weights = [weight for layer in module for weight in layer.parameters()]
    alone = len({id(weight) for weight in weights}) == len(weights)
    return alone and all(weight.requires_grad for weight in weights) and not any(map(_has_hooks, module.modules()))


def _has_hooks(layer: Any) -> bool:
    return any(held for name, held in vars(layer).items() if name.endswith("_hooks"))


def _front(listed: list[Any]) -> tuple[Front | None, int]:
    """What stands before the dense layers, and how many layers of the module that is; None and 0 if it is not ours."""
    import torch

    kinds = [type(layer) for layer in listed]
    if kinds[:2] == [torch.nn.Embedding, torch.nn.Flatten] and len(listed) > 2:
        plain = listed[0].padding_idx is None and listed[0].max_norm is None and not listed[0].scale_grad_by_freq
        columns, left = divmod(getattr(listed[2], "in_features", 0), listed[0].embedding_dim)
        if plain and columns and not left and _flat(listed[1]):
            return Embedding(columns, listed[0].num_embeddings, listed[0].embedding_dim), 2
    if kinds[:1] != [torch.nn.Unflatten] or listed[0].dim != 1 or len(listed[0].unflattened_size) != 3:
        return None, 0
    if min(listed[0].unflattened_size) < 1:
        return None, 0
    image, place = None, 1
    while kinds[place : place + 2] == [torch.nn.Conv2d, torch.nn.ReLU]:
        image = _convolution(listed[place], listed[0].unflattened_size, image)
        place += 2
        if image is None:
            return None, 0
    flat = kinds[place : place + 1] == [torch.nn.Flatten] and _flat(listed[place])
    return (image, place + 1) if image is not None and flat else (None, 0)


def _flat(layer: Any) -> bool:
    return (layer.start_dim, layer.end_dim) == (1, -1)


def _convolution(layer: Any, size: Any, earlier: Convolution | None) -> Convolution | None:
    """The convolution a layer is, if it is one of ours."""
    window, stride = tuple(layer.kernel_size), tuple(layer.stride)
    channels = 1 if earlier is None else earlier.filters
    plain = (layer.in_channels, layer.groups, layer.padding, layer.dilation) == (channels, 1, (0, 0), (1, 1))
    if (
        not plain
        or layer.bias is None
        or window[0] != window[1]
        or stride[0] != stride[1]
        or (earlier is None and size[0] != 1)
    ):
        return None
    if earlier is not None:
        return earlier.then(layer.out_channels, window[0], stride[0])
    return Convolution((size[1], size[2]), layer.out_channels, window[0], stride[0])


def _shared_matrix(layer: Any) -> Floats:
    """The weights of a convolution, window by window and channel by channel, or of an embedding."""
    weight = layer.weight.detach().numpy()
    if weight.ndim == 2:
        return np.asarray(weight, dtype=np.float64)
    return _with_bias(weight.transpose(2, 3, 1, 0).reshape(-1, weight.shape[0]), layer.bias)


def _with_bias(matrix: Any, bias: Any) -> Floats:
    row = np.zeros((1, matrix.shape[1])) if bias is None else bias.detach().numpy()[None, :]
    return np.concatenate([matrix, row]).astype(np.float64)


def _turned(front: Front) -> Whole:
    """Where torch, which flattens filter by filter, has the columns that we have place by place; the constant stays last."""
    places = np.arange(front.outputs - 1)
    if isinstance(front, Convolution):
        places = places.reshape(front.filters, -1).T.ravel()
    return np.append(places, front.outputs - 1)


def loaded(module: Any, front: Front | None, sizes: tuple[int, ...], flat: Floats) -> Any:
    """A copy of the module with these weights; a module of another shape is refused."""
    try:
        return _loaded(module, front, sizes, flat)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        raise InvalidArgument(
            "load takes a torch module of the shape that was trained; give it one made alike"
        ) from None


def _loaded(module: Any, front: Front | None, sizes: tuple[int, ...], flat: Floats) -> Any:
    import torch

    filled = copy.deepcopy(module)
    if not sizes:
        _check_shape(sum(weight.numel() for weight in _trained(filled)), len(flat))
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(torch.from_numpy(np.array(flat)), _trained(filled))
        return filled
    shared, dense = front_layers(() if front is None else front.chain(), sizes, flat / WEIGHT_STEPS)
    if front is None:
        dense[0] = np.concatenate([dense[0], np.zeros((1, dense[0].shape[1]))])
    else:
        back = np.empty_like(dense[0])
        back[_turned(front)] = dense[0]
        dense[0] = back
    weighted = [layer for layer in filled if hasattr(layer, "weight")]
    with torch.no_grad():
        for layer, matrix in zip(weighted, (*shared, *dense), strict=True):
            _fill(layer, matrix)
    return filled


def _fill(layer: Any, matrix: Floats) -> None:
    """Put the weights, and the bias from the last row, into a layer."""
    import torch

    if isinstance(layer, torch.nn.Embedding):
        _check_shape(tuple(layer.weight.shape), matrix.shape)
        layer.weight.copy_(torch.from_numpy(matrix.copy()))
        return
    weight = matrix[:-1].T
    if layer.weight.ndim == 4:
        filters, channels, down, across = layer.weight.shape
        weight = matrix[:-1].reshape(down, across, channels, filters).transpose(3, 2, 0, 1)
    _check_shape(tuple(layer.weight.shape), weight.shape)
    layer.weight.copy_(torch.from_numpy(np.ascontiguousarray(weight)))
    if layer.bias is not None:
        layer.bias.copy_(torch.from_numpy(matrix[-1].copy()))


def _check_shape(here: Any, trained: Any) -> None:
    if here != trained:
        raise ValueError(here, trained)


def _trained(module: Any) -> list[Any]:
    """The weights that are to be trained; others, such as a public model's, stay as they are."""
    return [weight for weight in module.parameters() if weight.requires_grad]


def _keeps_nothing(module: Any) -> bool:
    """Whether it is made of torch's own layers, without buffers or hooks, so that no call leaves anything behind."""
    own = all(type(layer).__module__.startswith("torch.nn.modules.") for layer in module.modules())
    return own and not any(map(_has_hooks, module.modules())) and not list(module.buffers())


@dataclass(frozen=True, slots=True, eq=False)
class ExamplePath:
    """Gradients of one example at a time, in float64, each put on a grid and cut in whole numbers before it meets another.

    Every row meets the module, and torch's random numbers, as if it were the first; a row at which the module fails counts for
    nothing. What the module's own code reads elsewhere, such as a global variable, is the one thing that is only tried.

    Guarantee: a unit's vector is computed from that unit's rows alone, in batches of one, and is at most the clip in length.
    """

    module: Any
    link: LossLink
    begin: Floats
    alike: bool
    """Whether calls leave nothing behind in the module, so that no copy is needed for every row."""

    grid: ClassVar[int] = 1 << 20
    sizes: ClassVar[tuple[int, ...]] = ()
    said: ClassVar[str] = "gradients of one example at a time, cut to a grid"

    @classmethod
    def of(cls, module: Any, width: int, outputs: int, link: LossLink) -> ExamplePath:
        """The path of a module that takes one row of our columns."""
        import torch

        try:
            kept = copy.deepcopy(module)
            with torch.no_grad():
                shape = tuple(kept(torch.zeros((1, width), dtype=torch.float64)).shape)
        except Exception as error:
            raise InvalidArgument(
                f"the module does not take one row of {number_of(width, 'column')}: {' '.join(str(error).split())}; "
                "layers before the dense ones run on whole numbers in the forms that docs/learning.md lists"
            ) from None
        if shape != (1, outputs):
            raise InvalidArgument(f"the module gives {shape} for one row, the loss needs {(1, outputs)}")
        if not _trained(module):
            raise InvalidArgument("the module has no weights to train: requires_grad is False for all of them")
        begin = torch.nn.utils.parameters_to_vector(_trained(module)).detach().numpy().astype(np.float64)
        return cls(copy.deepcopy(module), link, begin, _keeps_nothing(module))

    def check_repeats(self, width: int, outputs: int) -> None:
        """Refuse a module that draws random numbers, or whose gradient for one public row depends on the rows before it."""
        import torch

        rows = np.stack([np.full(width, float(GRID)), np.linspace(-GRID, GRID, width)])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # the same for every row: a module's own dropout, never the noise that protects
            state = torch.get_rng_state()
            first, _, again = (self._one(self.module, state, rows[row], np.zeros(outputs)) for row in (0, 1, 0))
            torch.set_rng_state(state)
            self._run(copy.deepcopy(self.module), rows[1], np.zeros(outputs))
            drew = not torch.equal(torch.get_rng_state(), state)
        if drew:
            raise InvalidArgument("the module draws random numbers of its own; leave out dropout and the like")
        if not np.allclose(first, again, rtol=1e-9, atol=0, equal_nan=True):
            raise InvalidArgument(
                "the module's answer for a row depends on the rows before it: its code keeps something"
            )

    def check(self, clip_steps: int, rows: int) -> None:
        """Refuse a clip that is too fine or too coarse for its grid."""
        if not (16 <= clip_steps < 1 << 28 and len(self.begin) < 1 << 24 and rows >= 1):
            raise InvalidArgument("clip must be between 2**-16 and 2**8, and the module below sixteen million weights")

    def start(self) -> Floats:
        """The starting weights, flat."""
        return self.begin

    def moved(self, weights: Floats, step: Floats) -> Floats:
        """The weights after a step."""
        return weights + step

    def total(self, rows: PrivateRows, weights: Floats, clip_steps: int) -> Whole:
        """The sum over units of their gradients, upwards, each on the grid and cut."""
        import torch

        module = loaded(self.module, None, (), weights)
        total = np.zeros(len(weights), dtype=np.int64)
        starts = np.arange(rows.count) if rows.starts is None else rows.starts
        ends, held = np.append(starts, rows.count), rows.kept
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # the same for every row: a module's own dropout, never the noise that protects
            state = torch.get_rng_state()
            for first, last in pairwise(ends.tolist()):
                whole = np.zeros(len(weights))
                for row in range(first, last):
                    whole += self._one(module, state, held["features"][row], held["truth"][row])
                total += self._cut(whole, clip_steps)
        return total

    def _cut(self, gradient: Floats, clip_steps: int) -> Whole:
        """On the grid, towards zero; what is no number counts for nothing, what is huge is first brought near the clip."""
        finite = np.nan_to_num(gradient, nan=0.0, posinf=0.0, neginf=0.0)
        largest = max(float(np.abs(finite).max(initial=0.0)), 1e-300)
        part = finite / largest
        length = float(np.sqrt((part * part).sum()))
        most = 1.001 * clip_steps / self.grid / max(length, 1e-300)
        steps = np.trunc(part * min(largest, most) * self.grid)
        return np.asarray(
            cut(np.clip(steps, -2 * clip_steps, 2 * clip_steps).astype(np.int64)[None, :], clip_steps)[0],
            dtype=np.int64,
        )

    def _one(self, module: Any, state: Any, features: Floats, truth: Floats) -> Floats:
        """The gradient of one row; of a row at which the module's code fails nothing, for data never raises."""
        import torch

        torch.set_rng_state(state)
        try:
            return self._run(module if self.alike else copy.deepcopy(module), features, truth)
        except Exception:
            return np.zeros(len(self.begin))

    def _run(self, module: Any, features: Floats, truth: Floats) -> Floats:
        import torch

        module.zero_grad()
        found = module(torch.from_numpy(features[None, :] / GRID))
        wanted = torch.from_numpy(truth[None, :].copy())
        match self.link.name:
            case "logistic":
                loss = torch.nn.functional.binary_cross_entropy_with_logits(found, wanted, reduction="sum")
            case "multinomial":
                loss = torch.nn.functional.cross_entropy(found, wanted, reduction="sum")
            case _:
                loss = ((found - wanted / GRID) ** 2).sum() / 2
        loss.backward()  # type: ignore[no-untyped-call]
        parts = [p.grad.reshape(-1) if p.grad is not None else torch.zeros(p.numel()) for p in _trained(module)]
        return -np.asarray(torch.cat(parts).detach().numpy(), dtype=np.float64)
