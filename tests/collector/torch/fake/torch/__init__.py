# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""As much of PyTorch as the hook touches, in PyTorch's shape, with a core (libtorch_cpu, libc10) that tells its observers
about operators and memory. FAKE_TORCH_CORE names the folder with the core; without it there is none."""

import contextlib
import ctypes
import os
import types

__version__ = "2.99.0"
version = types.SimpleNamespace(cuda=None)

_core = _memory = None
if os.environ.get("FAKE_TORCH_CORE"):
    _memory = ctypes.CDLL(os.path.join(os.environ["FAKE_TORCH_CORE"], "libc10.so"), ctypes.RTLD_GLOBAL)
    _memory.fakeAllocate.argtypes = (ctypes.c_uint64, ctypes.c_int64)
    _core = ctypes.CDLL(os.path.join(os.environ["FAKE_TORCH_CORE"], "libtorch_cpu.so"), ctypes.RTLD_GLOBAL)
    _core.fakeBegin.argtypes = (ctypes.c_char_p, ctypes.c_int, ctypes.c_int64)

FUNCTION, BACKWARD, USER = 0, 1, 7
_sequence = 100


@contextlib.contextmanager
def operator(name, scope=FUNCTION, sequence=-1):
    if _core:
        _core.fakeBegin(name.encode(), scope, sequence)
    try:
        yield
    finally:
        if _core:
            _core.fakeEnd()


def allocate(address, size):
    if _memory:
        _memory.fakeAllocate(address, size)


class Tensor:
    def neg(self):
        global _sequence
        with operator("aten::neg", sequence=_sequence):
            _sequence += 1
        return self

    def backward(self):
        autograd.backward(self)


def ones(*_, **__):
    return Tensor()


_grad = True


def is_grad_enabled():
    return _grad


@contextlib.contextmanager
def enable_grad():
    yield


@contextlib.contextmanager
def no_grad():
    global _grad
    _grad = False
    yield
    _grad = True


_anomaly = False


def is_anomaly_enabled():
    return _anomaly


@contextlib.contextmanager
def detect_anomaly():
    global _anomaly
    _anomaly = True
    yield
    _anomaly = False


def save(state, file):
    pass


def compile(function):
    return function


def _backward(tensor):
    with operator("autograd::engine::evaluate_function: NegBackward0"):
        with operator("NegBackward0", BACKWARD, _sequence - 1):
            with operator("aten::neg"):
                pass


autograd = types.SimpleNamespace(backward=_backward, detect_anomaly=detect_anomaly, _get_sequence_nr=lambda: _sequence)

from . import nn, optim, utils  # noqa: E402
