"""The window of a two-dimensional convolution: its size, step, dilation and padding, checked once for every block."""

from collections.abc import Sequence
from dataclasses import dataclass

import keras

from .arguments import input_rank, integers, one_of

Pair = int | Sequence[int]  # one integer for both axes, or (along height, along width)

PADDINGS = ("same", "valid", "symmetric")


@dataclass(frozen=True)
class Window:
    """Where a convolution reads, and what it reads beyond the border of the map.

    One behaviour for every convolution block of this package: strides above 1 together with a dilation rate above 1
    are refused at construction; unequal strides such as (1, 2) are computed, depthwise too.

    The paddings, for an extent e = (kernel_size - 1) * dilation_rate + 1:

    - `"same"`: TensorFlow's. ceil(size / stride) outputs; the zeros that this needs are split between the two sides,
      the odd one after the map. At stride 2 on an even size and e = 3 that is nothing before and one after.
    - `"symmetric"`: (e - 1) // 2 zeros on both sides whatever the size and the stride, as weights trained in torch expect.
    - `"valid"`: none.

    Args:
        kernel_size: (height, width) of the kernel.
        strides: step along (height, width).
        padding: "same", "valid" or "symmetric".
        dilation_rate: distance of the kernel's taps along (height, width).
        equal_steps: the kernel that runs over the window steps equally along both axes only (TensorFlow's depthwise kernel
            refuses unequal strides on GPUs and on CPUs without oneDNN); unequal strides then drop rows or columns afterwards.
    """

    kernel_size: tuple[int, ...]
    strides: tuple[int, ...]
    padding: str
    dilation_rate: tuple[int, ...]
    equal_steps: bool = False

    @classmethod
    def of(cls, kernel_size, strides: Pair = 1, padding="same", dilation_rate: Pair = 1, equal_steps=False) -> "Window":
        """Return the window of these arguments (each an integer or two) or raise a ValueError that names the bad one."""
        window = cls(
            integers("kernel_size", kernel_size, 2),
            integers("strides", strides, 2),
            one_of("padding", padding, PADDINGS),
            integers("dilation_rate", dilation_rate, 2),
            equal_steps,
        )
        if max(window.strides) > 1 and max(window.dilation_rate) > 1:
            raise ValueError(
                "strides and dilation_rate must not both be above 1, "
                f"got strides={window.strides} and dilation_rate={window.dilation_rate}."
            )
        return window

    @property
    def extent(self) -> tuple[int, ...]:
        """Rows and columns from the first tap of the kernel to its last."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel_size, self.dilation_rate, strict=True))

    @property
    def drops(self) -> bool:
        """Whether the convolution runs at stride 1 and rows or columns are dropped after it."""
        return self.equal_steps and self.strides[0] != self.strides[1]

    @property
    def pads(self) -> bool:
        """Whether the zeros are added before the convolution rather than by it."""
        if self.padding == "symmetric" and not self.drops:
            # At stride 1 an odd extent gets the same zeros from "same", without a copy of the map.
            return max(self.extent) > 1 and (max(self.strides) > 1 or any(e % 2 == 0 for e in self.extent))
        return self.drops

    def of_kernel(self) -> dict:
        """Return the arguments of the Keras convolution that runs over this window once `pad` has been called."""
        padding = "valid" if self.pads or self.padding == "valid" else "same"
        strides = (1, 1) if self.drops else self.strides
        return {"kernel_size": self.kernel_size, "strides": strides, "padding": padding, "dilation_rate": self.dilation_rate}

    def margins(self, sizes: Sequence) -> list[tuple]:
        """Return the zeros (before, after) along each axis of a map of these sizes."""
        margins = []
        for size, extent, stride in zip(sizes, self.extent, self.strides, strict=True):
            before, after = 0, 0
            if self.padding == "symmetric":
                before = after = (extent - 1) // 2
            elif self.padding == "same" and extent > 1:
                total = keras.ops.maximum(((size + stride - 1) // stride - 1) * stride + extent - size, 0)
                before, after = total // 2, total - total // 2
            margins.append((before, after))
        return margins

    def pad(self, inputs):
        """Return (B, height, width, channels) with the zeros that the convolution does not add itself."""
        if not self.pads:
            return inputs
        return keras.ops.pad(inputs, [(0, 0), *self.margins(keras.ops.shape(inputs)[1:3]), (0, 0)])

    def drop(self, outputs):
        """Return the outputs at every stride-th row and column where the convolution ran at stride 1."""
        return outputs[:, :: self.strides[0], :: self.strides[1]] if self.drops else outputs

    def output_shape(self, input_shape: Sequence, channels: int) -> tuple:
        """Return the shape of the outputs; unknown sizes stay None."""
        sizes = []
        for size, extent, stride in zip(input_shape[1:3], self.extent, self.strides, strict=True):
            if size is None or self.padding == "same":
                sizes.append(size if size is None else -(-size // stride))
            else:
                margin = 2 * ((extent - 1) // 2) if self.padding == "symmetric" else 0
                sizes.append((size + margin - extent) // stride + 1)
        return (input_shape[0], *sizes, channels)

    def check_input(self, owner: str, input_shape: Sequence) -> None:
        """Raise when the input is no (B, height, width, channels) or smaller than an unpadded kernel."""
        input_rank(owner, input_shape, 4, "(batch, height, width, channels)")
        if any(size is not None and size < 1 for size in self.output_shape(input_shape, 1)[1:3]):
            raise ValueError(
                f"{owner} with padding={self.padding!r} needs maps of at least {self.extent} after padding, "
                f"got height and width {tuple(input_shape[1:3])}."
            )

    def config(self) -> dict:
        """Return the constructor arguments as plain values."""
        return {
            "kernel_size": list(self.kernel_size),
            "strides": list(self.strides),
            "padding": self.padding,
            "dilation_rate": list(self.dilation_rate),
        }
