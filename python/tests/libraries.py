"""Libraries of arrays, on each device that there is: how an array of NumPy becomes one of theirs, and back."""

import functools

import numpy as np
import pytest

import detreduce as dr

NAMES = ("torch-cpu", "torch-cuda", "cupy", "jax-cpu", "jax-cuda", "dlpack")


class Foreign:
    """What has __dlpack__ and __array_namespace__ alone."""

    def __init__(self, a):
        self.a = a

    def __dlpack__(self, **kwargs):
        return self.a.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()

    def __array_namespace__(self):
        return Foreign

    @staticmethod
    def from_dlpack(a):
        return Foreign(np.from_dlpack(a))


class Library:
    def __init__(self, name):
        self.name, self.kind = name, name.partition("-")[0]
        on_gpu = name in ("torch-cuda", "cupy", "jax-cuda")
        if on_gpu and len(dr.devices()) < 2:
            pytest.skip("there is no GPU that detreduce was built for")
        if self.kind != "dlpack":
            self.module = pytest.importorskip(self.kind)
        if on_gpu and self.kind == "torch" and not self.module.cuda.is_available():
            pytest.skip("torch has no CUDA")
        if self.kind == "jax":
            try:
                self.device = self.module.devices("cpu" if name == "jax-cpu" else "cuda")[0]
            except RuntimeError:
                pytest.skip(f"there is no {name}")
        self.on_gpu = on_gpu

    def array(self, a):
        """The array a, of elements of its dtype."""
        if self.kind == "torch":
            bits = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}[a.itemsize]
            bits = self.module.from_numpy(np.ascontiguousarray(a).reshape(a.shape).view(bits).copy())
            t = bits if a.dtype.kind in "iu" else bits.view(getattr(self.module, a.dtype.name))
            return t.to("cuda" if self.on_gpu else "cpu")
        if self.kind == "cupy":
            try:
                return self.module.asarray(a)
            except (TypeError, ValueError):
                pytest.skip(f"CuPy has no {a.dtype}")
        if self.kind == "jax":
            with (
                self.module.enable_x64(True)
                if hasattr(self.module, "enable_x64")
                else self.module.experimental.enable_x64()
            ):
                return self.module.device_put(a, self.device)
        return Foreign(a)

    def numpy(self, a):
        """An array of the library as one of NumPy, of bits where NumPy has no such dtype."""
        if self.kind == "torch":
            assert isinstance(a, self.module.Tensor) and (a.device.type == "cuda") == self.on_gpu
            a = a.detach().cpu()
            if a.dtype in (self.module.bfloat16, self.module.float8_e4m3fn, self.module.float8_e5m2):
                import ml_dtypes

                bits = (
                    a.contiguous().view(self.module.int16 if a.itemsize == 2 else self.module.uint8).numpy()
                )
                return bits.view(getattr(ml_dtypes, str(a.dtype).partition(".")[2]))
            return a.numpy()
        if self.kind == "cupy":
            assert isinstance(a, self.module.ndarray)
            return a.get()
        if self.kind == "jax":
            assert isinstance(a, self.module.Array) and list(a.devices()) == [self.device]
            return np.asarray(a)
        return a.a if isinstance(a, Foreign) else np.asarray(a)


@functools.lru_cache(None)
def opened(name):
    return Library(name)
