"""What a part of the elements knows of a reduction: integers that merge to the bits of the whole."""

from __future__ import annotations

import operator
from typing import Any, Optional, Tuple

import numpy as np

from . import _core
from ._arrays import NAMES, NUMPY, WORDS, dtype_word, library_of
from ._reduce import Extremes, Moments, axes_of, ddof_of, laid_out, second_of, words_of

_OPS = "sum mean asum sumsq nrm2 dot sumdiffsq mse mae min max minmax argmin argmax nrminf variance stddev moments count_nonzero".split()
_TWO = ("dot", "sumdiffsq", "mse", "mae")
_NAMES = {"var": "variance", "std": "stddev"}
PLACES = ("argmin", "argmax")
INTEGERS = ("argmin", "argmax", "count_nonzero")


def op_of(op: str) -> str:
    words_of(op=op)
    op = _NAMES.get(op, op)
    if op not in _OPS:
        raise ValueError(f"op: allowed are {', '.join(_OPS)}, not {op!r}")
    return op


def partial(
    op: str, x: Any, y: Any = None, axis: Any = None, nan: str = "propagate", first_index: int = 0
) -> Tuple[Any, str]:
    """The states of the groups of x, int64 where x lies, the words of each group side by side; and how they merge."""
    lib = library_of(x)
    a = lib.open(x, "x")
    word = lib.dtype(a, "x")
    axes = axes_of(axis, a.ndim)
    if (y is not None) != (op in _TWO):
        raise TypeError(f"y: {'must be an array' if y is None else 'is for ' + ', '.join(_TWO)}")
    b = None if y is None else second_of(lib, x, a, word, y)
    words, merge = _core.state_form(op, word, nan)
    kept = tuple(length for i, length in enumerate(a.shape) if i not in axes)
    # To the end with the axes, so that there is one matrix.
    order = tuple(i for i in range(a.ndim) if i not in axes) + axes
    if order != tuple(range(a.ndim)) and not (a.ndim == 2 and axes == (0,)):
        a = lib.permuted(a, order)
        b = None if b is None else lib.permuted(b, order)
        axes = tuple(range(len(kept), a.ndim))
    if b is not None:
        a, b = lib.contiguous(a), lib.contiguous(b)
        b, _ = laid_out(lib, b, axes)
    a, layout = laid_out(lib, a, axes, op not in INTEGERS and b is None)
    out = lib.empty(kept + (words,), "int64", a)
    place = lib.place(a)
    if layout.groups > 0:
        assert layout.repeat == 1
        at = None if b is None else lib.at(b)
        shape = "rows" if layout.shape == "flat" else layout.shape
        _core.states(
            op,
            word,
            shape,
            layout.n,
            layout.groups,
            layout.stride,
            nan,
            first_index if op in PLACES else 0,
            lib.at(a),
            at,
            lib.at(out),
            place,
        )
        lib.done(place)
    return out, merge


def finish(
    op: str,
    word: str,
    states: Any,
    dtype: Any = None,
    ddof: int = 0,
    nan: str = "propagate",
    like: Any = None,
) -> Any:
    """The results of states: an array of the library that the states are of, two or one a group."""
    lib, ddof = library_of(states), ddof_of(None, ddof, None)
    output = None if dtype is None or op in INTEGERS else dtype_word(dtype, "dtype")
    results = 2 if op in ("minmax", "moments") else 1
    kept = tuple(states.shape[:-1])
    out = lib.empty(
        kept + (2,) if results == 2 else kept, "int64" if op in INTEGERS else output or word, states
    )
    groups = 1
    for length in kept:
        groups *= length
    if groups > 0:
        place = lib.place(states)
        states = lib.contiguous(states)
        _core.finish_states(op, word, output, nan, ddof, groups, lib.at(states), lib.at(out), place)
        lib.done(place)
    if results == 2:
        kind = Moments if op == "moments" else Extremes
        return kind(lib.close(lib.picked(out, 0), states), lib.close(lib.picked(out, 1), states))
    return lib.close(out, states)


def length_of(x: Any, axis: Any) -> int:
    """How many elements a group has."""
    shape = np.shape(x) if not hasattr(x, "shape") else tuple(x.shape)
    n = 1
    for i in axes_of(axis, len(shape)):
        n *= shape[i]
    return n


def merged(op: str, word: str, nan: str, states: Any) -> Any:
    """The states of several parts, one part behind the other along axis 0, as those of all of them."""
    lib = library_of(states)
    total = lib.contiguous(states[0])
    groups = 1
    for length in total.shape[:-1]:
        groups *= length
    for other in states[1:] if groups > 0 else ():
        other = lib.contiguous(other)
        _core.merge_states(op, word, nan, groups, lib.at(total), lib.at(other), lib.place(total))
    return total


class State:
    """A reduction that is not finished: of one op and one dtype.

        a, b = State("nrm2", "float32"), State("nrm2", "float32")
        a.add(x); b.add(y)
        (a + b).value()        # the bits of nrm2 of all elements, in whatever order and parts they came

    States are sums of int64 words (of min and max maxima), so that any all-reduce of integers merges them. They may be pickled
    and sent as bytes.
    """

    __slots__ = ("op", "dtype", "nan", "_words", "_next")

    def __init__(self, op: str = "sum", dtype: Any = "float64", *, nan: str = "propagate") -> None:
        words_of(nan=nan)
        self.op, self.dtype, self.nan = op_of(op), WORDS[dtype_word(dtype, "dtype")], nan
        word = NAMES[self.dtype]
        length, _ = _core.state_form(self.op, word, nan)
        self._words = np.zeros(length, np.int64)
        self._next = 0
        nothing = NUMPY.at(NUMPY.empty((0,), word, None))
        second = nothing if self.op in _TWO else None
        _core.states(self.op, word, "rows", 0, 1, 0, nan, 0, nothing, second, self._words, None)

    def add(self, x: Any, y: Any = None, *, first_index: Optional[int] = None) -> "State":
        """Adds the elements of an array. Of argmin and argmax `first_index` is the index of the first one, by default
        behind those that were added to this state by add(): what it was merged with does not count."""
        lib = library_of(x)
        a = lib.open(x, "x")
        word = lib.dtype(a, "x")
        if WORDS[word] != self.dtype:
            raise TypeError(f"x: must have the dtype of the state, {self.dtype}, not {WORDS[word]}")
        try:
            first = self._next if first_index is None else operator.index(first_index)
        except (TypeError, RuntimeError):
            raise TypeError(f"first_index: must be an int, not {first_index!r}") from None
        if not 0 <= first <= 2**61:
            raise ValueError(f"first_index: allowed are 0 to 2^61, not {first}")
        words, _ = partial(self.op, x, y, None, self.nan, first)
        if lib.place(words) is not None:
            words = (
                words.cpu().numpy()
                if lib.name == "torch"
                else words.get() if lib.name == "cupy" else np.asarray(words)
            )
        self._merge(np.ascontiguousarray(np.asarray(words)))
        count = 1
        for length in a.shape:
            count *= length
        self._next = first + count
        return self

    def _merge(self, words: np.ndarray) -> None:
        merged = self._words.copy()
        _core.merge_states(self.op, NAMES[self.dtype], self.nan, 1, merged, words, None)
        self._words = merged

    def merge(self, other: "State") -> "State":
        """Adds what another state knows."""
        if not isinstance(other, State):
            raise TypeError(f"other: must be a State, not {type(other).__name__}")
        for name in ("op", "dtype", "nan"):
            if getattr(self, name) != getattr(other, name):
                raise ValueError(
                    f"other: must have the {name} of this state, {getattr(self, name)}, not {getattr(other, name)}"
                )
        self._merge(other._words)
        return self

    def copy(self) -> "State":
        state = State(self.op, self.dtype, nan=self.nan)
        state._words, state._next = self._words.copy(), self._next
        return state

    def __add__(self, other: Any) -> "State":
        return self.copy().merge(other) if isinstance(other, State) else NotImplemented

    def __iadd__(self, other: Any) -> "State":
        return self.merge(other) if isinstance(other, State) else NotImplemented

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self._key() == other._key()

    __hash__ = None  # type: ignore[assignment]

    def _key(self):
        return self.op, self.dtype, self.nan, self._words.tobytes()

    @property
    def words(self) -> np.ndarray:
        """A copy of the int64 words, for an all-reduce; from_words() puts them back."""
        return self._words.copy()

    @property
    def merges_by(self) -> str:
        """ "sum", "max", or "pair": the pair with the greater first word, of equal ones with the greater second."""
        return _core.state_form(self.op, NAMES[self.dtype], self.nan)[1]

    def from_words(self, words: Any) -> "State":
        """A state of this op and dtype with other words, such as sums of up to 2^28 states' words."""
        words = np.ascontiguousarray(words)
        if words.dtype != np.int64 or words.shape != self._words.shape:
            raise ValueError(
                f"words: must be {self._words.size} of int64, not {words.shape} of {words.dtype}"
            )
        state = State(self.op, self.dtype, nan=self.nan)
        state._words = words.copy()
        _core.merge_states(self.op, NAMES[self.dtype], self.nan, 1, state._words, None, None)
        return state

    def value(self, dtype: Any = None, ddof: int = 0) -> Any:
        """The result, rounded once, in `dtype`; that of no elements is NaN where there is none."""
        return finish(self.op, NAMES[self.dtype], self._words, dtype, ddof, self.nan)

    def to_bytes(self) -> bytes:
        """The state as bytes that any machine can read, and C and C++: lib/SPEC.md, section 18.5."""
        first = self._next if self.op in PLACES else 0
        return _core.state_bytes(self.op, NAMES[self.dtype], self.nan, first, self._words)

    @classmethod
    def from_bytes(cls, data: bytes) -> "State":
        """Reads them back, and what else is serialized of one array; what is damaged, or no state, is a ValueError."""
        try:
            raw = np.asarray(memoryview(data).cast("B"))
        except (TypeError, ValueError):
            raise TypeError(f"data: must be bytes, not {type(data).__name__}") from None
        op, word, nan, first = _core.request_of_bytes(raw, raw.size)
        state = cls(op, WORDS[word], nan=nan)
        _core.read_state(op, word, nan, raw, raw.size, state._words)
        state._next = first
        return state

    def __reduce__(self):
        return State.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"<detreduce.State {self.op} of {self.dtype}: {self.value()}>"
