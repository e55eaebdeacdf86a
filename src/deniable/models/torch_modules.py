"""Torch modules: what is refused, what runs on whole numbers, and gradients of one example at a time for the rest.

Torch is imported inside functions only; it is an extra.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.models.encoding import GRID, Feature, Whole
from deniable.models.image_layer import Convolution, image_layers
from deniable.models.links import LossLink
from deniable.models.network import WEIGHT_STEPS, layers
from deniable.models.unit_totals import PrivateRows, cut

Floats = NDArray[np.float64]

MIXING = ("BatchNorm", "SyncBatchNorm", "InstanceNorm", "LazyBatchNorm")
"""Layers whose output for one row depends on other rows or on running means of them."""
RANDOM = ("Dropout", "RReLU")
"""Layers that draw random numbers of their own."""


def check_module(module: Any) -> None:
    """Refuse what is no torch module, and layers that mix rows or draw random numbers, by name."""
    try:
        import torch
    except ImportError:
        raise InvalidArgument("a torch module needs torch: install deniable with its torch extra") from None
    if not isinstance(module, torch.nn.Module):
        raise InvalidArgument(f"module must be a dp.models.Network or a torch module, got {type(module).__name__}")
    for name, layer in module.named_modules():
        kind = type(layer).__name__
        if any(word in kind for word in MIXING):
            raise InvalidArgument(f"layer {name!r} is a {kind}, which mixes rows: use LayerNorm or GroupNorm instead")
        if any(word in kind for word in RANDOM):
            raise InvalidArgument(f"layer {name!r} is a {kind}, which draws random numbers of its own; leave it out")
    kinds = {parameter.dtype for parameter in module.parameters()}
    if kinds != {torch.float64}:
        raise InvalidArgument(f"a module must hold float64 weights (module.double()), got {sorted(map(str, kinds))}")


def module_digest(module: Any) -> str:
    """The module's layers and weights as one hash: they decide what is trained."""
    digest = hashlib.sha256(repr(module).encode())
    for name, weights in module.state_dict().items():
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(weights.detach().cpu().numpy()).tobytes())
    return f"[{digest.hexdigest()[:32]}]"


def dense_start(module: Any, width: int, outputs: int) -> list[Floats] | None:
    """The weights of dense layers with ReLU between them, in whole steps; None if the module is anything else.

    The first layer's bias is added to the weights of the constant first column, which every row of ours has.
    """
    import torch

    if not isinstance(module, torch.nn.Sequential):
        return None
    linear = [layer for layer in module if isinstance(layer, torch.nn.Linear)]
    between = [torch.nn.Linear if place % 2 == 0 else torch.nn.ReLU for place in range(len(module))]
    if len(module) != 2 * len(linear) - 1 or any(
        type(layer) is not kind for layer, kind in zip(module, between, strict=True)
    ):
        return None
    if linear[0].in_features != width or linear[-1].out_features != outputs:
        raise InvalidArgument(
            f"the module takes {number_of(linear[0].in_features, 'column')} to {linear[-1].out_features}; "
            f"these features have {number_of(width, 'column')} (an intercept first) and the loss needs {outputs}"
        )
    found = []
    for place, layer in enumerate(linear):
        matrix = layer.weight.detach().numpy().T.astype(np.float64)
        bias = np.zeros((1, matrix.shape[1])) if layer.bias is None else layer.bias.detach().numpy()[None, :]
        if place == 0:
            matrix = matrix.copy()
            matrix[0] += bias[0]
        else:
            matrix = np.concatenate([matrix, bias])
        found.append(np.rint(matrix * WEIGHT_STEPS))
    return found


def image_start(
    module: Any, features: tuple[Feature, ...], outputs: int
) -> tuple[Convolution, tuple[int, ...], Floats] | None:
    """A module that makes an image of its features, convolves it once and goes on densely, on whole steps; None if it does not.

    It is Unflatten(1, (1, height, width)), Conv2d without padding, ReLU, Flatten, and dense layers with ReLU between them.
    """
    import torch

    kinds = [type(layer) for layer in module] if isinstance(module, torch.nn.Sequential) else []
    head = [torch.nn.Unflatten, torch.nn.Conv2d, torch.nn.ReLU, torch.nn.Flatten]
    tail = [torch.nn.Linear if place % 2 == 0 else torch.nn.ReLU for place in range(len(kinds) - 4)]
    if kinds != [*head, *tail] or len(tail) % 2 == 0:
        return None
    image = _image(module[0], module[1])
    if image is None:
        return None
    image.check(features)
    linear = [layer for layer in module if isinstance(layer, torch.nn.Linear)]
    if linear[0].in_features != image.outputs - 1 or linear[-1].out_features != outputs:
        raise InvalidArgument(
            f"the module takes {linear[0].in_features} columns to {linear[-1].out_features} after its convolution, which gives "
            f"{image.outputs - 1}; the loss needs {outputs}"
        )
    first = _with_bias(module[1].weight.detach().numpy().reshape(image.filters, -1).T, module[1].bias)
    dense = [_with_bias(layer.weight.detach().numpy().T, layer.bias) for layer in linear]
    dense[0] = dense[0][_turned(image)]
    sizes = (image.outputs, *(matrix.shape[1] for matrix in dense))
    flat = np.concatenate([matrix.ravel() for matrix in (first, *dense)])
    return image, sizes, np.rint(flat * WEIGHT_STEPS)


def image_loaded(module: Any, image: Convolution, sizes: tuple[int, ...], flat: Floats) -> Any:
    """A copy of such a module with these weights."""
    import copy

    import torch

    filled = copy.deepcopy(module)
    first, dense = image_layers(image, sizes, flat / WEIGHT_STEPS)
    back = np.empty_like(dense[0])
    back[_turned(image)] = dense[0]
    linear = [filled[1], *(layer for layer in filled if isinstance(layer, torch.nn.Linear))]
    with torch.no_grad():
        for layer, matrix in zip(linear, (first, back, *dense[1:]), strict=True):
            layer.weight.copy_(torch.from_numpy(matrix[:-1].T.copy().reshape(tuple(layer.weight.shape))))
            if layer.bias is not None:
                layer.bias.copy_(torch.from_numpy(matrix[-1].copy()))
    return filled


def _image(shaped: Any, layer: Any) -> Convolution | None:
    """The convolution two layers are, if it is one of ours."""
    sizes, window, stride = tuple(shaped.unflattened_size), tuple(layer.kernel_size), tuple(layer.stride)
    plain = (shaped.dim, len(sizes), sizes[0], layer.groups, layer.padding, layer.dilation) == (
        1,
        3,
        1,
        1,
        (0, 0),
        (1, 1),
    )
    if not plain or window[0] != window[1] or stride[0] != stride[1]:
        return None
    return Convolution((sizes[1], sizes[2]), layer.out_channels, window[0], stride[0])


def _with_bias(matrix: Any, bias: Any) -> Floats:
    row = np.zeros((1, matrix.shape[1])) if bias is None else bias.detach().numpy()[None, :]
    return np.concatenate([matrix, row]).astype(np.float64)


def _turned(image: Convolution) -> Whole:
    """Where torch, which flattens filter by filter, has the columns that we have position by position; the constant stays last."""
    places = np.arange(image.outputs - 1).reshape(image.filters, image.positions).T.ravel()
    return np.append(places, image.outputs - 1)


def loaded(module: Any, sizes: tuple[int, ...], flat: Floats) -> Any:
    """A copy of the module with these weights."""
    import copy

    import torch

    filled = copy.deepcopy(module)
    with torch.no_grad():
        if not sizes:
            torch.nn.utils.vector_to_parameters(torch.from_numpy(np.array(flat)), filled.parameters())
            return filled
        linear = [layer for layer in filled if isinstance(layer, torch.nn.Linear)]
        for place, (layer, matrix) in enumerate(zip(linear, layers(sizes, flat / WEIGHT_STEPS), strict=True)):
            whole = matrix if place == 0 else matrix[:-1]
            layer.weight.copy_(torch.from_numpy(np.ascontiguousarray(whole.T)))
            if layer.bias is not None:
                layer.bias.copy_(torch.zeros_like(layer.bias) if place == 0 else torch.from_numpy(matrix[-1].copy()))
    return filled


@dataclass(frozen=True, slots=True, eq=False)
class ExamplePath:
    """Gradients of one example at a time, in float64, each put on a grid and cut in whole numbers before it meets another.

    Guarantee: a unit's vector is computed from that unit's rows alone, in batches of one, and is at most the clip in length.
    """

    module: Any
    link: LossLink
    begin: Floats

    grid: ClassVar[int] = 1 << 20
    sizes: ClassVar[tuple[int, ...]] = ()
    said: ClassVar[str] = "gradients of one example at a time, cut to a grid"

    @classmethod
    def of(cls, module: Any, width: int, outputs: int, link: LossLink) -> ExamplePath:
        """The path of a module that takes one row of our columns; its output for a row of zeros is checked."""
        import torch

        try:
            with torch.no_grad():
                shape = tuple(module(torch.zeros((1, width), dtype=torch.float64)).shape)
        except Exception as error:
            raise InvalidArgument(
                f"the module does not take one row of {number_of(width, 'column')}: {error}"
            ) from None
        if shape != (1, outputs):
            raise InvalidArgument(f"the module gives {shape} for one row, the loss needs {(1, outputs)}")
        begin = torch.nn.utils.parameters_to_vector(module.parameters()).detach().numpy().astype(np.float64)
        return cls(module, link, begin)

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
        import copy

        import torch

        module = copy.deepcopy(self.module)
        torch.nn.utils.vector_to_parameters(torch.from_numpy(np.array(weights)), module.parameters())
        total = np.zeros(len(weights), dtype=np.int64)
        starts = np.arange(rows.count) if rows.starts is None else rows.starts
        ends = np.append(starts, rows.count)
        for first, last in pairwise(ends.tolist()):
            whole = sum(
                (self._one(module, rows.kept["features"][row], rows.kept["truth"][row]) for row in range(first, last)),
                np.zeros(len(weights)),
            )
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

    def _one(self, module: Any, features: Floats, truth: Floats) -> Floats:
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
        parts = [p.grad.reshape(-1) if p.grad is not None else torch.zeros(p.numel()) for p in module.parameters()]
        return -np.asarray(torch.cat(parts).detach().numpy(), dtype=np.float64)
