# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The part of PyTorch that the hook touches, in PyTorch's shape. Its core (libtorch_cpu, libc10) notifies observers
about operators and memory. FAKE_TORCH_CORE names the folder with the core; without it there is none."""

import contextlib
import ctypes
import os
import sys
import types

__version__ = "2.99.0"
version = types.SimpleNamespace(cuda=None)

_core = _memory = None
if os.environ.get("FAKE_TORCH_CORE"):
    _memory = ctypes.CDLL(os.path.join(os.environ["FAKE_TORCH_CORE"], "libc10.so"), ctypes.RTLD_GLOBAL)
    _memory.fakeAllocate.argtypes = (ctypes.c_uint64, ctypes.c_int64)
    _core = ctypes.CDLL(os.path.join(os.environ["FAKE_TORCH_CORE"], "libtorch_cpu.so"), ctypes.RTLD_GLOBAL)
    _core.fakeBegin.argtypes = (ctypes.c_char_p, ctypes.c_int, ctypes.c_int64)
    _core.fakeTensor.argtypes = (ctypes.POINTER(ctypes.c_int64), ctypes.c_size_t, ctypes.c_int64)
    _core.fakeTensor.restype = ctypes.c_void_p
    _core.fakeInputTensor.argtypes = (ctypes.c_void_p,)
    _core.fakeInputNumber.argtypes = (ctypes.c_int64,)
    _core.fakeInputList.argtypes = (ctypes.c_void_p, ctypes.c_void_p)

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


float32, float64, bfloat16, int64 = "float32", "float64", "bfloat16", "int64"
_NUMBERS = {int64: 4, float32: 6, float64: 7}
channels_last, contiguous_format = "channels_last", None


class Tensor:
    dtype, device, is_cuda, requires_grad = float32, types.SimpleNamespace(type="cpu"), False, False
    grad, layout, shape = None, None, (1,)

    def __init__(self, value=1.0, shape=(1,), **attributes):
        self.value, self.shape = value, shape
        self.__dict__.update(attributes)

    def dim(self):
        return len(self.shape)

    def numel(self):
        return 1

    def is_floating_point(self):
        return True

    def untyped_storage(self):
        raise NotImplementedError

    def is_contiguous(self, memory_format):
        return self.layout == memory_format

    def contiguous(self, memory_format=None):
        return Tensor(self.value, self.shape, layout=memory_format, dtype=self.dtype)

    def to(self, dtype):
        return Tensor(self.value, self.shape, layout=self.layout, dtype=dtype)

    def detach(self):
        return self

    def clone(self):
        return Tensor(self.value)

    def __float__(self):
        return self.value

    def neg(self):
        return neg(self)

    def add(self, other):
        return add(self, other)

    def backward(self):
        autograd.backward(self)


def ones(*_, **__):
    return Tensor()


def zeros(shape, dtype=float32):
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    return Tensor(0.0, shape, dtype=dtype, _cdata=_core and _core.fakeTensor(sizes, len(shape), _NUMBERS[dtype]))


def add(first, second):
    if _core:
        _core.fakeInputTensor(first._cdata)
        _core.fakeInputTensor(second._cdata)
        _core.fakeInputNumber(1)
    with operator("aten::add"):
        return first


def cat(tensors):
    if _core:
        _core.fakeInputList(tensors[0]._cdata, tensors[1]._cdata)
        _core.fakeInputNumber(0)
    with operator("aten::cat"):
        return tensors[0]


_grad = True


def neg(tensor, out=None):
    global _sequence
    with operator("aten::neg", sequence=_sequence if _grad else -1):
        _sequence += _grad
        if out is None and not _grad:  # with gradients the graph is taken to keep it
            allocate(0x2000, 4)
            allocate(0x2000, -4)
    return tensor


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


def set_anomaly_enabled(mode, check_nan=True):
    global _anomaly
    _anomaly = mode


@contextlib.contextmanager
def detect_anomaly():
    sys.modules[__name__].set_anomaly_enabled(True)
    yield
    sys.modules[__name__].set_anomaly_enabled(False)


class emit_nvtx:
    def __init__(self, enabled=True, record_shapes=False):
        self.enabled = enabled


def gradcheck(function, inputs):
    raise RuntimeError("this takes hours")


_reduced = None


@contextlib.contextmanager
def autocast(device, dtype):
    global _reduced
    _reduced = dtype
    try:
        yield
    finally:
        _reduced = None


def is_autocast_enabled(device):
    return _reduced is not None


_threads, _precision = 4, "highest"


def get_num_threads():
    return _threads


def set_num_threads(number):
    global _threads
    _threads = number


def get_float32_matmul_precision():
    return _precision


def set_float32_matmul_precision(precision):
    global _precision
    _precision = precision


def are_deterministic_algorithms_enabled():
    return False


cuda = types.SimpleNamespace(is_initialized=lambda: bool(os.environ.get("FAKE_GPU")), empty_cache=lambda: print("emptied"),
                             max_memory_allocated=lambda: 4096, synchronize=lambda: None, is_bf16_supported=lambda: True)
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(benchmark=False, deterministic=False))
multiprocessing = types.SimpleNamespace(get_start_method=lambda: os.environ.get("FAKE_START_METHOD", "fork"))


def save(state, file):
    pass


def compile(function, **options):
    if os.environ.get("FAKE_COMPILER") == "broken":
        raise RuntimeError("no compiler")
    function.__dict__["compiled"] = options
    return function


def _backward(tensor):
    with operator("autograd::engine::evaluate_function: NegBackward0"):
        with operator("NegBackward0", BACKWARD, _sequence - 1):
            with operator("aten::neg"):
                pass


autograd = types.SimpleNamespace(backward=_backward, detect_anomaly=detect_anomaly, _get_sequence_nr=lambda: _sequence,
                                 profiler=types.SimpleNamespace(emit_nvtx=emit_nvtx), gradcheck=gradcheck)

from . import nn, optim, utils  # noqa: E402

if os.environ.get("FAKE_WITHOUT"):  # as a version that has not got it
    del globals()[os.environ["FAKE_WITHOUT"]]
