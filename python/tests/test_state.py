"""States: whatever is added in whatever parts and order has the bits of the whole."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import detreduce as dr
from detreduce import _state
from oracle import arrays, same_bits

WHOLE = {
    "sum": dr.sum,
    "mean": dr.mean,
    "asum": dr.asum,
    "nrm2": dr.nrm2,
    "min": dr.min,
    "max": dr.max,
    "argmin": dr.argmin,
    "argmax": dr.argmax,
    "var": dr.var,
    "std": dr.std,
    "moments": dr.moments,
    "minmax": dr.minmax,
    "count_nonzero": dr.count_nonzero,
}


@pytest.mark.parametrize("op", WHOLE)
@given(data=st.data(), dtype=st.sampled_from((np.float16, np.float32, np.float64)))
def test_parts_have_the_bits_of_the_whole(op, data, dtype):
    x = data.draw(arrays(dtype, shape=st.integers(1, 40), finite=False))
    cuts = sorted(data.draw(st.lists(st.integers(0, x.size), max_size=4)))
    states, begin = [], 0
    for end in cuts + [x.size]:
        states.append(dr.State(op, dtype).add(x[begin:end], first_index=begin))
        begin = end
    while len(states) > 1:
        one = states.pop(data.draw(st.integers(0, len(states) - 1)))
        states[0] = states[0] + one
    whole = WHOLE[op](x)
    got = states[0].value()
    for a, b in zip(np.atleast_1d(got), np.atleast_1d(whole)):
        assert same_bits(a, b)
    assert states[0] == dr.State(op, dtype).add(x)
    assert pickle.loads(pickle.dumps(states[0])) == states[0]


def test_two_inputs_and_other_outputs():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 1000)).astype(np.float32)
    state = dr.State("dot", np.float32).add(x[:300], y[:300]).add(x[300:], y[300:])
    assert same_bits(state.value(), dr.dot(x, y)) and same_bits(
        state.value("float64"), dr.dot(x, y, dtype="float64")
    )
    state = dr.State("var", np.float32).add(x)
    assert same_bits(state.value(ddof=1), dr.var(x, ddof=1))
    assert dr.State().value() == 0 and np.isnan(dr.State("mean").value()) and dr.State("argmax").value() == -1


def test_integers_of_numpy_are_integers():
    x = np.float64([1, 5, 2])
    state = dr.State("argmax").add(x, first_index=np.int64(4))
    assert state.value() == 5 and state.add(x + 1).value() == 8
    assert dr.State("var").add(x).value(ddof=np.int64(1)) == dr.var(x, ddof=1)


def test_words_are_what_an_all_reduce_adds():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((3, 500))
    states = [dr.State("nrm2", x.dtype).add(part) for part in x]
    total = states[0].from_words(sum(s.words for s in states))
    assert states[0].merges_by == "sum" and same_bits(total.value(), dr.nrm2(x))
    states = [dr.State("max", x.dtype).add(part) for part in x]
    assert states[0].merges_by == "max"
    assert states[0].from_words(np.maximum.reduce([s.words for s in states])).value() == x.max()


@pytest.mark.parametrize("op", ["sum", "nrm2", "var", "max", "argmax", "count_nonzero"])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (0, 1), ()])
def test_states_of_groups(op, axis):
    x = np.random.default_rng(2).standard_normal((4, 5, 6)).astype(np.float32)
    op = _state.op_of(op)
    words, _ = _state.partial(op, x, None, axis)
    expected = WHOLE.get(op, {"variance": dr.var}.get(op))(x, axis)
    assert same_bits(_state.finish(op, "f32", words), expected)


def test_bytes_are_looked_at():
    state = dr.State("sum", "float32").add(np.float32([1, 2, 4]))
    data = state.to_bytes()
    assert dr.State.from_bytes(bytearray(data)) == state
    for i in range(len(data)):
        with pytest.raises(ValueError, match="^data: "):
            dr.State.from_bytes(data[:i] + bytes([data[i] ^ 0x55]) + data[i + 1 :])
    for bad in (b"", data[:-1], data + b"\0"):
        with pytest.raises(ValueError, match="^data: "):
            dr.State.from_bytes(bad)
    with pytest.raises(TypeError, match="^data: "):
        dr.State.from_bytes(5)
    assert len(data) == 640 and data[:16] == b"DREXACT\n\x02\0\0\0\x4a\0\0\0"  # as C and C++ have it
    rows = bytearray(data)
    rows[19] = 1
    hash = 0xCBF29CE484222325
    for byte in rows[:-8]:
        hash = (hash ^ byte) * 0x100000001B3 % 2**64
    with pytest.raises(ValueError, match="^data: is a state of groups"):
        dr.State.from_bytes(bytes(rows[:-8]) + hash.to_bytes(8, "little"))


def test_bytes_of_indices_go_on():
    state = dr.State("argmax", "float32").add(np.float32([1, 4, 2]))
    again = dr.State.from_bytes(state.to_bytes())
    assert again == state and again.add(np.float32([3, 9])).value() == 4
    assert state.copy().add(np.float32([3, 9])).value() == 4 and state.value() == 1


IN_PROCESSES = """
import multiprocessing, sys
import numpy as np
import detreduce as dr

def work(data):
    ones = dr.sum(np.ones(1 << 22, np.float32))
    assert ones == 1 << 22
    return dr.State.from_bytes(data).add(np.float32([8.0])).to_bytes()

if __name__ == "__main__":
    state = dr.State("sum", "float32").add(np.float32([1, 2, 4]))
    dr.sum(np.ones(1 << 22, np.float32))  # the library has its threads now
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        for data in pool.map(work, [state.to_bytes()] * 3):
            assert dr.State.from_bytes(data).value() == 15
"""


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_other_processes(start, tmp_path):
    (tmp_path / "main.py").write_text(IN_PROCESSES)
    subprocess.run([sys.executable, str(tmp_path / "main.py"), start], check=True, timeout=120)


@pytest.mark.parametrize(
    "error, argument, call",
    [
        (ValueError, "op", lambda s: dr.State("prod")),
        (TypeError, "op", lambda s: dr.State(3)),
        (TypeError, "dtype", lambda s: dr.State("sum", "int32")),
        (ValueError, "nan", lambda s: dr.State("max", nan="omit")),
        (TypeError, "x", lambda s: s.add(np.float32([1]))),
        (TypeError, "y", lambda s: s.add(np.ones(2), np.ones(2))),
        (TypeError, "y", lambda s: dr.State("dot").add(np.ones(2))),
        (ValueError, "first_index", lambda s: s.add(np.ones(2), first_index=-1)),
        (TypeError, "other", lambda s: s.merge(5)),
        (ValueError, "other", lambda s: s.merge(dr.State("nrm2"))),
        (ValueError, "other", lambda s: s.merge(dr.State("sum", "float32"))),
        (ValueError, "words", lambda s: s.from_words(np.zeros(3, np.int64))),
        (ValueError, "ddof", lambda s: s.value(ddof=-1)),
        (TypeError, "ddof", lambda s: s.value(ddof="a")),
        (TypeError, "first_index", lambda s: s.add(np.ones(2), first_index=0.5)),
        (TypeError, "dtype", lambda s: s.value("int8")),
    ],
)
def test_errors_name_the_argument(error, argument, call):
    with pytest.raises(error) as raised:
        call(dr.State())
    assert str(raised.value).startswith(argument + ": ")
