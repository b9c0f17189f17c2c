"""Arrays of NumPy, PyTorch, CuPy and JAX, and of whoever speaks DLPack: what is asked of them, by one name each.

An adapter never reads an element. An array that it gives as `where` it lies is an address, or in NumPy the array itself.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import warnings
from typing import Any, Optional, Tuple

import numpy as np

from . import _core

NAMES = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
}
WORDS = {word: name for name, word in NAMES.items()}
SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "f8e4m3": 1, "f8e5m2": 1, "int64": 8}
_BITS = {1: np.uint8, 2: np.uint16}
_NATIVE = ("f32", "f64", "int64")
_BY_DTYPE = {np.dtype(name): NAMES[name] for name in ("float16", "float32", "float64")}  # faster than a name
_ALLOWED = ", ".join(NAMES)


def arithmetic_of(word: str) -> str:
    """What elements of a dtype are added in."""
    return "f64" if word == "f64" else "f32"


def dtype_word(dtype: Any, argument: str) -> str:
    """The library's name of a dtype of any library, or of its name."""
    if isinstance(dtype, str) and dtype in NAMES:
        return NAMES[dtype]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(dtype, torch.dtype):
        name = str(dtype).partition(".")[2]
    else:
        try:
            name = np.dtype(dtype).name
        except TypeError as error:
            raise TypeError(f"{argument}: {error}; allowed are {_ALLOWED}") from None
    if name not in NAMES:
        what = f"{dtype!r} is {name}" if isinstance(dtype, str) and dtype != name else f"there is no {name}"
        raise TypeError(f"{argument}: {what}; allowed are {_ALLOWED}")
    return NAMES[name]


def refused_dtype(argument: str, dtype: Any, cast: str) -> TypeError:
    """Of elements of another kind. `cast` makes integers a dtype that is allowed; empty: they are no integers."""
    hint = f". Integers up to 2**53 fit float64: {argument}{cast}" if cast else ""
    return TypeError(f"{argument}: must not be {dtype}; allowed are {_ALLOWED}{hint}")


class Numpy:
    """Arrays in host memory. The base of what is opened as one of these."""

    name = "numpy"
    ddof = 0

    def open(self, x: Any, argument: str) -> np.ndarray:
        """x, or what stands for it, so that its elements can be read where they lie."""
        if type(x) is np.ndarray:
            a = x
        else:
            if isinstance(x, np.ma.MaskedArray):
                raise TypeError(
                    f"{argument}: must not be a masked array; allowed are x.compressed() and x.filled(0)"
                )
            try:
                a = np.asarray(x)
            except (TypeError, ValueError) as error:
                raise TypeError(f"{argument}: must be an array ({error})") from None
        if not a.dtype.isnative:
            a = a.astype(a.dtype.newbyteorder("="))
        if not a.flags.aligned:
            a = a.copy()
        return a

    def close(self, a: Any, like: Any) -> Any:
        """A result for the caller."""
        return a[()] if a.ndim == 0 else a

    def dtype(self, a, argument: str) -> str:
        name = _BY_DTYPE.get(a.dtype) or NAMES.get(a.dtype.name)
        if name is None:
            raise refused_dtype(argument, a.dtype, '.astype("float64")' if a.dtype.kind in "iub" else "")
        return name

    def is_int64(self, a) -> bool:
        return a.dtype == np.int64

    def as_int64(self, a):
        return a.astype(np.int64) if a.dtype.kind in "iu" else None

    def strides(self, a) -> Tuple[int, ...]:
        """In elements, or in no way a multiple of them: then 0, which is none that is read where it lies."""
        size = a.itemsize
        return tuple(s // size if s % size == 0 else 0 for s in a.strides)

    def is_contiguous(self, a) -> bool:
        return a.flags.c_contiguous

    def contiguous(self, a):
        return np.ascontiguousarray(a) if a.ndim else a.copy()

    def permuted(self, a, axes):
        return a.transpose(axes)

    def reshaped(self, a, shape):
        return a.reshape(shape)

    def broadcast(self, a, shape):
        return np.broadcast_to(a, shape)

    def picked(self, a, i: int):
        """One of the results that lie side by side."""
        return a[..., i]

    def empty(self, shape, word: str, like):
        return np.empty(shape, self._dtype_of(word))

    def filled(self, shape, word: str, value, like):
        return np.full(shape, value, self._dtype_of(word))

    def cast(self, a, word: str):
        return a.astype(self._dtype_of(word))

    def _dtype_of(self, word: str) -> np.dtype:
        name = WORDS.get(word, word)
        if name[:4] == "bflo" or name[:6] == "float8":
            import ml_dtypes

            return np.dtype(getattr(ml_dtypes, name))
        return np.dtype(name)

    def at(self, a) -> Any:
        """Where the elements begin."""
        if a.dtype.itemsize < 4:
            return a.view(_BITS[a.itemsize])
        return a

    def place(self, a) -> Optional[tuple]:
        """Where the work is done, as _core.Place has it: None is the CPU."""
        return None

    def device(self, a) -> Any:
        """Something that is the same for arrays of one device."""
        return None

    def done(self, place) -> None:
        """After the work was enqueued: waits for it if the library has no stream of the caller's."""

    def writable(self, a, argument: str):
        if not isinstance(a, np.ndarray):
            raise TypeError(f"{argument}: must be an array that can be written, not {type(a).__name__}")
        if not a.flags.writeable:
            raise ValueError(f"{argument}: must be writable")

    def tracked(self, x) -> bool:
        """Does x take part in automatic differentiation, or is what is done with it recorded or transformed?"""
        return False

    def traced(self) -> bool:
        """Is what is done recorded, as by torch.jit.trace, or transformed, as by torch.func.vmap?"""
        return False

    def warn(self, text: str) -> None:
        """Of a mean or a variance of too few elements."""
        warnings.warn(text, RuntimeWarning, stacklevel=5)


class Torch(Numpy):
    name = "torch"
    ddof = 1

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.strided = torch.strided
        self.plain = (torch.Tensor, torch.nn.Parameter)
        self.forward_ad = torch.autograd.forward_ad
        self.tracing = torch._C._is_tracing
        self.transforms = torch._C._functorch.peek_interpreter_stack
        self.words = {getattr(torch, name): word for name, word in NAMES.items() if hasattr(torch, name)}
        self.dtypes = {word: dtype for dtype, word in self.words.items()}
        self.dtypes["int64"] = torch.int64
        self.allocate = functools.lru_cache(None)(self._allocate)  # of a device, what gives its memory
        # Of a device, the address of the current stream: an object of it takes some microseconds.
        self.current_stream = getattr(
            torch._C, "_cuda_getCurrentRawStream", lambda index: torch.cuda.current_stream(index).cuda_stream
        )

    def open(self, x, argument: str):
        if (
            (x.is_cpu or (x.is_cuda and _core.built_with_cuda))
            and x.layout is self.strided
            and not x.is_neg()
            and not x.is_nested
            and (type(x) in self.plain or not self.is_wrapper(x))
        ):
            # A multiple of 8 is one of the size of every element.
            return x.clone() if x.data_ptr() & 7 and self.misaligned(x) else x
        self.refuse_wrapper(x, argument)
        if x.layout is not self.torch.strided or x.device.type == "meta":
            raise TypeError(f"{argument}: must be a dense tensor with elements, not {x.layout} on {x.device}")
        if x.device.type not in ("cpu", "cuda"):
            raise TypeError(f"{argument}: must be on a CPU or a CUDA device, not on {x.device}")
        if x.device.type == "cuda" and not _core.built_with_cuda:
            raise TypeError(
                f"{argument}: is on {x.device}, and this build of detreduce has no CUDA; allowed is cpu"
            )
        if x.is_neg():
            x = x.resolve_neg()
        return x

    def close(self, a, like):
        return a

    def dtype(self, a, argument: str) -> str:
        word = self.words.get(a.dtype)
        if word is None:
            integer = not (a.dtype.is_floating_point or a.dtype.is_complex)
            raise refused_dtype(argument, a.dtype, ".double()" if integer else "")
        return word

    def is_int64(self, a) -> bool:
        return a.dtype is self.torch.int64

    def as_int64(self, a):
        ok = not (a.dtype.is_floating_point or a.dtype.is_complex or a.dtype is self.torch.bool)
        return a.to(self.torch.int64) if ok else None

    def strides(self, a):
        return a.stride()

    def is_contiguous(self, a) -> bool:
        return a.is_contiguous()

    def contiguous(self, a):
        return a.resolve_neg().contiguous()

    def permuted(self, a, axes):
        return a.permute(axes)

    def broadcast(self, a, shape):
        return a.broadcast_to(shape)

    def empty(self, shape, word, like):
        return self.torch.empty(shape, dtype=self.dtypes[word], device=like.device)

    def filled(self, shape, word, value, like):
        dtype = self.dtypes[word]
        if dtype.itemsize == 1:  # torch before 2.6 cannot fill them
            return self.torch.full(shape, value, dtype=self.torch.float32, device=like.device).to(dtype)
        return self.torch.full(shape, value, dtype=dtype, device=like.device)

    def cast(self, a, word):
        return a.to(self.dtypes[word])

    def at(self, a) -> int:
        return a.data_ptr()

    def device(self, a):
        return a.device

    def place(self, a):
        if a.is_cpu:
            return None
        index = a.device.index
        return index, self.current_stream(index), self.allocate(index)

    def _allocate(self, index: int):
        torch, device = self.torch, self.torch.device("cuda", index)

        def allocate(size: int):
            memory = torch.empty(size, dtype=torch.uint8, device=device)
            return memory, memory.data_ptr()

        return allocate

    def writable(self, a, argument):
        if any(step == 0 and n > 1 for step, n in zip(a.stride(), a.shape)):
            raise ValueError(f"{argument}: must be writable, and its elements share memory")

    def misaligned(self, x) -> bool:
        """Does x begin where no element of its dtype may, as in the middle of a file that was read?"""
        return x.data_ptr() % x.element_size() != 0

    def tracked(self, x) -> bool:
        if type(x) not in self.plain or self.forward_ad._current_level >= 0:
            return True
        return (x.requires_grad and self.torch.is_grad_enabled()) or self.traced()

    def traced(self) -> bool:
        return self.tracing() or self.transforms() is not None

    def is_wrapper(self, x) -> bool:
        """Is x made of other tensors, as a DTensor is?"""
        return hasattr(type(x), "__tensor_flatten__")

    def refuse_wrapper(self, x, argument: str) -> None:
        if x.is_nested:
            raise TypeError(f"{argument}: must be one tensor, not a nested one")
        if self.is_wrapper(x):
            raise TypeError(
                f"{argument}: must be a tensor with elements of its own, not a {type(x).__name__}; of a DTensor to_local() "
                "is one, and detreduce.torch.distributed has sum, mean, norm and clip_grad_norm_ of DTensors"
            )

    def warn(self, text: str) -> None:
        if not text.startswith("mean"):  # of which torch says nothing
            warnings.warn(text, UserWarning, stacklevel=5)


class Cupy(Numpy):
    name = "cupy"

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy

    def open(self, x, argument: str):
        if not _core.built_with_cuda:
            raise TypeError(f"{argument}: is on a GPU, and this build of detreduce has no CUDA")
        return x

    def close(self, a, like):
        return a

    def contiguous(self, a):
        with a.device:
            return self.cupy.ascontiguousarray(a) if a.ndim else a.copy()

    def broadcast(self, a, shape):
        return self.cupy.broadcast_to(a, shape)

    def empty(self, shape, word, like):
        with like.device:
            return self.cupy.empty(shape, self._dtype_of(word))

    def filled(self, shape, word, value, like):
        with like.device:
            return self.cupy.full(shape, value, self._dtype_of(word))

    def at(self, a) -> int:
        return a.data.ptr

    def device(self, a):
        return a.device.id

    def place(self, a):
        cupy, device = self.cupy, a.device

        def allocate(size: int):
            with device:
                memory = cupy.cuda.alloc(size)
            return memory, memory.ptr

        with device:
            return device.id, cupy.cuda.get_current_stream().ptr, allocate

    def writable(self, a, argument):
        pass


class Jax(Numpy):
    """Arrays of one device, outside of jit. On a CPU they are read as arrays of NumPy; on a GPU calls wait for the result."""

    name = "jax"

    def __init__(self) -> None:
        import jax

        self.jax = jax

    def open(self, x, argument: str):
        jax = self.jax
        if isinstance(x, jax.core.Tracer):
            raise TypeError(
                f"{argument}: is traced (by jit, grad or vmap); detreduce reduces arrays of JAX outside of these"
            )
        devices = list(x.devices())
        if len(devices) != 1:
            raise ValueError(f"{argument}: must be on one device, not on {len(devices)}")
        if devices[0].platform == "cpu":
            return Numpy.open(self, np.asarray(x), argument)
        if devices[0].platform not in ("gpu", "cuda"):
            raise TypeError(f"{argument}: must be on a CPU or a CUDA device, not on {devices[0]}")
        if not _core.built_with_cuda:
            raise TypeError(f"{argument}: is on {devices[0]}, and this build of detreduce has no CUDA")
        return x.block_until_ready()

    def _on_cpu(self, a) -> bool:
        return isinstance(a, np.ndarray)

    def close(self, a, like):
        if not self._on_cpu(a) and hasattr(a, "devices"):
            of_32_bits = a.dtype == np.int64 and not self.jax.config.jax_enable_x64
            return self._made(a, lambda: a.astype(np.int32)) if of_32_bits else a
        a, device = np.asarray(a), next(iter(like.devices()))
        if a.dtype == np.float64:
            with self._of_64_bits():
                return self.jax.device_put(a, device)
        return self.jax.device_put(a, device)  # indices have as many bits as JAX is told that they have

    def _of_64_bits(self):
        return (
            self.jax.enable_x64(True)
            if hasattr(self.jax, "enable_x64")
            else self.jax.experimental.enable_x64()
        )

    def as_int64(self, a):
        if a.dtype.kind not in "iu":
            return None
        if self._on_cpu(a):
            return a.astype(np.int64)
        with self._of_64_bits():
            return a.astype(np.int64).block_until_ready()

    def strides(self, a):
        if self._on_cpu(a):
            return Numpy.strides(self, a)
        strides = [1]
        for length in reversed(a.shape[1:]):
            strides.append(strides[-1] * length)
        return tuple(reversed(strides[: a.ndim]))

    def is_contiguous(self, a):
        return not self._on_cpu(a) or a.flags.c_contiguous

    def contiguous(self, a):
        return Numpy.contiguous(self, a) if self._on_cpu(a) else a

    def permuted(self, a, axes):
        return self._made(a, lambda: a.transpose(axes))

    def reshaped(self, a, shape):
        return self._made(a, lambda: a.reshape(shape))

    def broadcast(self, a, shape):
        return self._made(a, lambda: (np if self._on_cpu(a) else self.jax.numpy).broadcast_to(a, shape))

    def picked(self, a, i):
        return self._made(a, lambda: a[..., i])

    def _made(self, a, make):
        """On a GPU: when it is there, and of 64 bits if a is."""
        if self._on_cpu(a):
            return make()
        with self._of_64_bits():
            return make().block_until_ready()

    def empty(self, shape, word, like):
        return self.filled(shape, word, 0, like)

    def filled(self, shape, word, value, like):
        if self._on_cpu(like):
            return np.full(shape, value, self._dtype_of(word))
        host = np.full(shape, value, self._dtype_of(word))
        with self._of_64_bits():
            return self.jax.device_put(host, next(iter(like.devices()))).block_until_ready()

    def device(self, a):
        return None if self._on_cpu(a) else next(iter(a.devices()))

    def at(self, a):
        return Numpy.at(self, a) if self._on_cpu(a) else a.unsafe_buffer_pointer()

    def place(self, a):
        return None if self._on_cpu(a) else (next(iter(a.devices())).local_hardware_id, 0, None)

    def done(self, place) -> None:
        if place is not None:
            _wait_for(place[0])

    def writable(self, a, argument):
        raise TypeError(f"{argument}: arrays of JAX cannot be written")


def _wait_for(index: int) -> None:
    """Until the GPU has done what is enqueued on its default stream. Its primary context, which libraries share, is made current
    meanwhile: that of the thread may be none, or of another GPU."""
    cuda, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()

    def call(name: str, *args: Any) -> None:
        error = getattr(cuda, name)(*args)
        if error != 0:
            raise RuntimeError(f"x: {name} failed on GPU {index} with error {error} of CUDA")

    call("cuDeviceGet", ctypes.byref(device), index)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    try:
        call("cuCtxPushCurrent_v2", context)
        try:
            call("cuStreamSynchronize", ctypes.c_void_p(0))
        finally:
            call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
    finally:
        call("cuDevicePrimaryCtxRelease_v2", device)


class Dlpack(Numpy):
    """Whatever else has __dlpack__ and lies in host memory: opened by NumPy, and given back to its own library if that can."""

    name = "dlpack"

    def open(self, x, argument: str):
        try:
            device = x.__dlpack_device__()
            if int(device[0]) != 1:
                raise TypeError(
                    f"{argument}: lies on a device that is not the CPU; allowed there are torch, cupy and jax"
                )
            return Numpy.open(self, np.from_dlpack(x), argument)
        except (BufferError, RuntimeError, AttributeError) as error:
            raise TypeError(f"{argument}: must be an array ({error})") from None

    def close(self, a, like):
        namespace = getattr(like, "__array_namespace__", None)
        from_dlpack = getattr(namespace(), "from_dlpack", None) if namespace is not None else None
        return Numpy.close(self, a, like) if from_dlpack is None else from_dlpack(np.asarray(a))


NUMPY = Numpy()
_LIBRARIES: dict = {}
_BY_TYPE: dict = {np.ndarray: NUMPY}


def _library(kind) -> Any:
    if kind not in _LIBRARIES:
        _LIBRARIES[kind] = kind()
    return _LIBRARIES[kind]


def library_of(x: Any) -> Any:
    """The adapter for x."""
    found = _BY_TYPE.get(type(x))
    if found is not None:
        return found
    torch, cupy, jax = (sys.modules.get(name) for name in ("torch", "cupy", "jax"))
    if torch is not None and isinstance(x, torch.Tensor):
        found = _library(Torch)
    elif cupy is not None and isinstance(x, cupy.ndarray):
        found = _library(Cupy)
    elif jax is not None and isinstance(x, jax.Array):
        found = _library(Jax)
    elif not isinstance(x, (np.ndarray, np.generic)) and hasattr(x, "__dlpack__"):
        found = _library(Dlpack)
    else:
        return NUMPY
    _BY_TYPE[type(x)] = found
    return found
