# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""liblacuna_torch.so, which records the events of a PyTorch program, for Python."""

import ctypes
import os

PHASE = 2  # a category of the schema in docs/nvtx-schema.md
ROLES = {"other": 0, "parameter": 1, "gradient": 2, "activation": 3, "optimizer": 4, "input": 5}
LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "liblacuna_torch.so")


class Emitter:
    """liblacuna_torch.so as Python functions. They are too short to be worth giving up the interpreter's lock for."""

    _FUNCTIONS = {
        "listening": ("lacunaTorchListening", (), ctypes.c_int),
        "observe": ("lacunaTorchObserve", (ctypes.c_uint32, ctypes.c_uint32, ctypes.c_int), ctypes.c_int),
        "executions": ("lacunaTorchExecutions", (ctypes.c_int,), None),
        "expect_sequence": ("lacunaTorchExpectSequence", (ctypes.c_int64,), None),
        "settle_sequence": ("lacunaTorchSettleSequence", (), ctypes.c_int),
        "expect_inputs": (
            "lacunaTorchExpectInputs",
            (ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.c_uint32, ctypes.c_int),
            None,
        ),
        "call_lines": (
            "lacunaTorchCallLines",
            (ctypes.POINTER(ctypes.c_int64), ctypes.c_char_p, ctypes.c_char_p),
            ctypes.c_int,
        ),
        "settle_inputs": ("lacunaTorchSettleInputs", (), ctypes.c_int),
        "watch_memory": ("lacunaTorchWatchMemory", (ctypes.c_int,), ctypes.c_int),
        "role": ("lacunaTorchRole", (ctypes.c_uint32,), None),
        "tensor": (
            "lacunaTorchTensor",
            (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int32, ctypes.c_char_p),
            None,
        ),
        "open": ("lacunaTorchOpen", (ctypes.c_uint32, ctypes.c_char_p), ctypes.c_int),
        "open_step": ("lacunaTorchOpenStep", (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int), ctypes.c_int),
        "close_step": ("lacunaTorchCloseStep", (ctypes.c_int,), None),
        "forwards": ("lacunaTorchForwards", (), ctypes.c_uint64),
        "detail": ("lacunaTorchDetail", (ctypes.c_int,), None),
        "module_calls": ("lacunaTorchModuleCalls", (ctypes.py_object,) * 7, ctypes.py_object),
        "watch_modules": ("lacunaTorchWatchModules", (ctypes.c_int,), None),
        "call_inside_modules": ("lacunaTorchCallInsideModules", (ctypes.c_int,), None),
        "name_module": ("lacunaTorchNameModule", (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int), None),
        "forget_module": ("lacunaTorchForgetModule", (ctypes.c_void_p,), None),
        "open_loader": (
            "lacunaTorchOpenLoader",
            (ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int32),
            ctypes.c_int,
        ),
        "close": ("lacunaTorchClose", (ctypes.c_int,), None),
        "rehearse": ("lacunaTorchRehearse", (ctypes.c_int,), None),
        "remark": ("lacunaTorchRemark", (ctypes.c_char_p, ctypes.c_char_p), None),
        "pass_over": ("lacunaTorchPassOver", (ctypes.c_int,), None),
        "watched_kernel": (
            "lacunaTorchWatchedKernel",
            (ctypes.py_object, ctypes.c_char_p, ctypes.c_char_p),
            ctypes.py_object,
        ),
        "knob": ("lacunaTorchKnob", (ctypes.c_char_p, ctypes.c_char_p), None),
        "loader_depth": ("lacunaTorchLoaderDepth", (ctypes.c_uint32, ctypes.c_int64), None),
        "name_thread": ("lacunaTorchNameThread", (ctypes.c_char_p,), None),
        "leave": ("lacunaTorchLeave", (), None),
    }

    def __init__(self, path):
        library = ctypes.PyDLL(path)
        for name, (symbol, arguments, result) in self._FUNCTIONS.items():
            function = getattr(library, symbol)
            function.argtypes = arguments
            function.restype = result
            setattr(self, name, function)


class Phase:
    """A phase while it is open. Memory handed out meanwhile gets its role."""

    def __init__(self, emitter, name, role):
        self.emitter = emitter
        self.name = name
        self.role = ROLES[role]
        self.level = -1

    def __enter__(self):
        self.level = self.emitter.open(PHASE, self.name)
        self.emitter.role(self.role)
        return self

    def __exit__(self, *_):
        self.emitter.role(0)
        self.emitter.close(self.level)
