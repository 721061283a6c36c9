# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operators: whether this version can be observed, and where it keeps sequence numbers and inputs."""

import ctypes
import os
import re
import sys

import lacuna_frames

_CALLBACK = (
    "StartCallback start_; EndCallback end_; double sampling_prob_ = 1.0; "
    "std::array<bool, static_cast<size_t>(RecordScope::NUM_SCOPES)> scopes_ = {}; "
    "bool needs_inputs_ = false; bool needs_outputs_ = false; bool needs_ids_ = false;"
)
_CALLS = (
    "using StartCallback = std::unique_ptr<ObserverContext> (*)(const RecordFunction&);",
    "using EndCallback = void (*)(const RecordFunction&, ObserverContext*);",
    "const char* name() const;",
    "CallbackHandle addGlobalCallback( RecordFunctionCallback cb);",
)


def squeezed(text):
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r"\(\s+", "(", text)


def read_layout(header):
    """The record scopes of PyTorch's own header, in order; None when it does not declare what liblacuna_torch.so was
    written for, which is then not to be registered."""
    text = squeezed(header)
    scopes = re.search(r"enum class (?:C10_API_ENUM )?RecordScope : uint8_t \{(.*?)\}", text)
    callback = re.search(r"class (?:TORCH_API )?RecordFunctionCallback \{.*?private: (.*?;) \};", text)
    if scopes is None or callback is None or callback.group(1).strip() != _CALLBACK:
        return None
    if any(squeezed(call) not in text for call in _CALLS):
        return None
    names = [re.sub(r"\s*=.*", "", name).strip() for name in scopes.group(1).split(",")]
    names = [name for name in names if name]
    if names[:2] != ["FUNCTION", "BACKWARD_FUNCTION"] or names[-1] != "NUM_SCOPES" or "USER_SCOPE" not in names:
        return None
    return names[:-1]


def install_operators(torch, emitter, cpu_only, with_inputs):
    """Why operators are not observed, or None when they are."""
    header = os.path.join(os.path.dirname(torch.__file__), "include", "ATen", "record_function.h")
    try:
        with open(header, encoding="utf-8") as file:
            scopes = read_layout(file.read())
    except OSError:
        return f"{header} is not there, so it is not known how to register"
    if scopes is None:
        return f"PyTorch {torch.__version__} declares its observers in a way that this version does not know"
    result = emitter.observe(len(scopes), scopes.index("USER_SCOPE"), with_inputs)
    if result != 0:
        return f"libtorch_cpu.so is not loaded or has no observers ({result})"
    find_sequence(torch, emitter)
    emitter.executions(cpu_only)
    return None


def find_sequence(torch, emitter):
    """Shows the observer three operators whose sequence numbers are known, so that it finds where they are kept."""
    peek = getattr(torch.autograd, "_get_sequence_nr", None) or getattr(torch._C._autograd, "_get_sequence_nr", None)
    if peek is None:
        return
    with torch.enable_grad():
        tensor = torch.ones(1, requires_grad=True)
        for _ in range(3):
            emitter.expect_sequence(peek())
            tensor.neg()
    emitter.settle_sequence()


def find_inputs(torch, emitter):
    """Shows the observer operators on tensors whose shapes and types are known, so that it finds where PyTorch keeps the
    inputs of operators. False when it did not."""
    try:
        for shape, dtype, number in (
            ((3, 5, 7), torch.float32, 6),
            ((11, 2, 13), torch.float64, 7),
            ((17, 4, 9), torch.int64, 4),
        ):
            first, second = torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype)
            sizes = (ctypes.c_int64 * 3)(*shape)
            emitter.expect_inputs(first._cdata, second._cdata, sizes, number, 0)
            first.add(second)
            emitter.expect_inputs(first._cdata, second._cdata, sizes, number, 1)
            torch.cat([first, second])
    finally:
        found = emitter.settle_inputs() != 0
    return found


def find_lines(torch, emitter):
    """Shows the observer where this interpreter keeps its frames, so that it finds the lines that call operators."""
    found = lacuna_frames.places()
    through = found.get("cframe", -1)
    units = 2 if sys.version_info[:2] == (3, 10) else 1  # of the number that older frames keep
    values = (
        found["frame"] if through < 0 else found["cframe_frame"],
        through,
        found["back"],
        found["code"],
        found["instruction"] if "instruction" in found else found["lasti"],
        0 if "instruction" in found else units,
        found.get("owner", -1),
        found.get("bytecode", 0),
    )
    folders = [os.path.dirname(os.path.abspath(module.__file__)) + os.sep for module in (torch, os)]
    return emitter.call_lines((ctypes.c_int64 * len(values))(*values), *map(os.fsencode, folders)) != 0


def runs_on_cpu_only(torch):
    """Not torch.cuda.is_available(): it would start the driver before the program forks."""
    return torch.version.cuda is None or not os.path.exists("/dev/nvidiactl")
