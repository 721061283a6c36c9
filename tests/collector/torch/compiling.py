# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles as torch.compile does, with the stand-in for PyTorch: compiling.py CASE"""

import os
import sys
import types

import torch


class Net(torch.nn.Module):
    def forward(self, value):
        return value


class OptimizedModule(torch.nn.Module):
    def __init__(self, module):
        self._modules = {"_orig_mod": module}
        self._orig_mod = module

    def forward(self, value):
        return self._orig_mod.forward(value)


CODE = """
def cpp_fused_relu_0(*arguments, **named):
    print("kernel", arguments, named)
    return 7


def helper():
    return None


class Autotuner:
    def run(self, value, stream):
        print("launched", value, stream)


triton_poi_fused_0 = Autotuner()


def call(value):
    NOTES
    result = cpp_fused_relu_0(value, size=2)
    triton_poi_fused_0.run(value, stream=1)
    return result
"""


class Node:
    def __init__(self, op, meta):
        self.op, self.meta = op, meta


def node(operator, module, line, op="call_function"):
    trace = f'  File "/elsewhere/net.py", line {line}, in forward\n    return 1\n'
    trace += f'  File "{os.path.dirname(torch.__file__)}/nn/modules/linear.py", line 9, in forward\n    return 2\n'
    return Node(op, {
        "original_aten": types.SimpleNamespace(overloadpacket=operator), "stack_trace": trace,
        "nn_module_stack": {"1": (f"L['self'].{module}", torch.nn.Module)}})


def generate():
    """What Inductor writes and loads: notes are the comments in it."""
    from torch._inductor.codegen import cpp
    from torch._inductor.virtualized import V

    nodes = [node("aten.relu", "block._modules['0'].act", 5), node("aten.addmm", "hidden", 4),
             node("aten.none", "x", 1, "placeholder")]
    V.graph.graph.nodes = [nodes[1], nodes[0]]
    cpp.define([types.SimpleNamespace(node=types.SimpleNamespace(origins=nodes))], "cpp_fused_relu_0")
    path = os.path.abspath("generated.py")
    with open(path, "w") as file:
        file.write(CODE.replace("NOTES", "\n    ".join(V.graph.wrapper_code.lines)))
    return path


def load(path):
    from torch._inductor.codecache import PyCodeCache

    return PyCodeCache.load_by_key_path("generated", path)


def compilation(work=lambda: None):
    import torch._dynamo

    with torch._dynamo.callback.callback_handler.install_callbacks("DYNAMO", "0/0"):
        with torch.operator("aten::traced"):
            work()


def breaks(line, reason="Call to graph_break()\n  Explanation: it was called"):
    import torch._dynamo

    stack = [types.SimpleNamespace(filename="/elsewhere/net.py", lineno=line)]
    torch._dynamo.utils.graph_break_reasons.append(types.SimpleNamespace(reason=reason, user_stack=stack))


def calls_of_modules():
    import torch._dynamo

    model = OptimizedModule(Net())
    seen = torch._dynamo.utils.unpatched_nn_module_call
    model(1)
    compilation(lambda: print("the compiler finds its own call", torch.nn.Module.__call__ is seen))
    torch._dynamo.reset()
    compilation(lambda: print("and after a reset", torch.nn.Module.__call__ is seen))
    print("ours is back", torch.nn.Module.__call__ is not seen)
    model(2)


def reasons():
    import torch._dynamo

    def recompiled():
        return sys._getframe()

    frames = torch._dynamo.convert_frame
    compilation(lambda: (breaks(3), breaks(3), breaks(8)))
    frames.get_and_maybe_log_recompilation_reasons(["0/0: size of x\n  more of it", "another"], recompiled(), None)
    compilation(lambda: breaks(9))
    frames.get_and_maybe_log_recompilation_reasons([], recompiled(), None)
    compilation(lambda: 1 / 0)


def kernels():
    with torch.operator("Torch-Compiled Region: 0/0"):
        print("result", load(generate()).call(3))
    print("result", load(os.path.abspath("generated.py")).call(4))


def fails():
    try:
        reasons()
    except ZeroDivisionError:
        print("the error of the program")


CASES = {"modules": calls_of_modules, "reasons": fails, "kernels": kernels}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
