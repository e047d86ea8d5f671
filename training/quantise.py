"""One rounding rule, used twice: imitated in torch while training, applied in numpy at export.

Matrix weights take 7 of 8 bits per output channel ("reduced range"): on x86 chips without VNNI two products
of full 8-bit weights overflow their 16-bit sum. The word table is only looked up, so it keeps all 8 bits, one
scale per word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

LARGEST = {7: 64, 8: 127}
_TINY = 1e-12
SMOOTHING = 0.6


def quantised_rows(weight: npt.NDArray[np.float32], bits: int) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Integers and one scale per row."""
    largest = LARGEST[bits]
    scale = np.maximum(np.abs(weight).max(axis=1), _TINY).astype(np.float32) / np.float32(largest)
    rounded = np.clip(np.rint(weight / scale[:, None]), -largest, largest)
    return rounded.astype(np.int8), scale


def smoothing(largest: torch.Tensor) -> torch.Tensor:
    """Divisor per input channel.

    A few channels are ten times louder than the rest, and one scale for all would leave the quiet ones four
    bits: part of the loudness moves into the weights, which have a scale per row.
    """
    return (largest / largest.median().clamp(min=_TINY)).clamp(min=1) ** SMOOTHING


def fake_quantised_weight(weight: torch.Tensor, bits: int) -> torch.Tensor:
    """The value the int8 graph will use; gradients pass as if nothing was rounded."""
    largest = LARGEST[bits]
    scale = weight.detach().abs().amax(dim=1, keepdim=True).clamp(min=_TINY) / largest
    rounded = (weight / scale).round().clamp(-largest, largest) * scale
    return weight + (rounded - weight).detach()


def fake_quantised_input(value: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """`DynamicQuantizeLinear` of each text by itself: 8 bits between its smallest and largest activation."""
    valid = value.detach() * mask[:, :, None].to(value.dtype)
    low = valid.amin(dim=(1, 2), keepdim=True).clamp(max=0)
    high = valid.amax(dim=(1, 2), keepdim=True).clamp(min=0)
    scale = ((high - low) / 255).clamp(min=_TINY)
    zero = (-low / scale).round()
    rounded = (((value.detach() / scale).round() + zero).clamp(0, 255) - zero) * scale
    return value + rounded - value.detach()
