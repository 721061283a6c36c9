# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""What torch.compile does. Each compilation is a phase. A mark gives the reason of each recompilation and of each break
of a graph. Kernels that Inductor writes are operators, with the operators, modules and lines that they come from."""

import functools
import os
import re
import sys
import threading

import lacuna_start
from lacuna_emitter import PHASE

LONGEST = 400  # of a text
NOTE = "lacuna kernel"  # begins a comment in Inductor's code, which stays in its caches
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in ')
_OF_SELF = re.compile(r"L\['(\w+)'\]|\['?(\w+)'?\]|\.(\w+)|_modules")


def in_one_line(text):
    lines = [line.strip() for line in str(text).strip().splitlines()]
    return " ".join(lines[0].split())[:LONGEST] if lines else ""


def place(file, line):
    return f"{os.path.basename(file)}:{line}"


def module_path(stack):
    """The innermost module of a node: "Net.hidden.0" of ("L['self'].hidden.0", Linear). Dynamo's names of submodules have
    `_modules` in them, depending on its version."""
    if not stack:
        return ""
    path = list(stack.values())[-1][0]
    names = [first or index or attribute for first, index, attribute in _OF_SELF.findall(path)]
    names = [name for name in names if name and name != "_modules"]
    outermost = list(stack.values())[0]
    if names and names[0] == "self":
        kind = outermost[1]
        names[0] = getattr(kind, "__name__", str(kind).rpartition(".")[2]) if outermost[0] == "L['self']" else ""
    return ".".join(name for name in names if name)


def source_line(trace):
    """The innermost frame of a node's stack that is no file of PyTorch."""
    own = os.path.dirname(os.path.abspath(sys.modules["torch"].__file__)) + os.sep
    frames = [(file, line) for file, line in _FRAME.findall(trace or "") if not file.startswith(own)]
    return place(*frames[-1]) if frames else ""


def origin_of(nodes):
    """Where nodes of a graph come from: operators, modules and lines, each in the order of the graph."""
    operators, modules, lines = {}, {}, {}
    for node in nodes:
        meta = node.meta
        operators[str(getattr(meta.get("original_aten"), "overloadpacket", "") or meta.get("original_aten") or "")] = None
        modules[module_path(meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack"))] = None
        lines[source_line(meta.get("stack_trace"))] = None
    parts = [" ".join(name for name in names if name) for names in (operators, modules, lines)]
    return in_one_line(" | ".join(part for part in parts if part))


class Compilations:
    """Calls back where a compilation begins and where it ends; never for one inside another."""

    def __init__(self):
        self.listeners = []
        self.installed = False

    def install(self, dynamo):
        handler = dynamo.callback.callback_handler
        self.around(handler, "run_start_callbacks", lambda begin, end: begin)
        self.around(handler, "run_end_callbacks", lambda begin, end: end)

    def around(self, handler, name, which):
        """In the place of the handler's method: torch._dynamo.reset() takes callbacks off."""
        original = getattr(handler, name)

        @functools.wraps(original)
        def run(*arguments):
            for listener in self.listeners:
                lacuna_start.guarded(which(*listener))
            return original(*arguments)

        setattr(handler, name, run)


_compilations = Compilations()
_compilers = []  # at most one


def compilations():
    """Those of this process, without listeners: a program on standby is watched several times."""
    if not _compilations.installed:
        _compilations.installed = True
        lacuna_start.after_import("torch._dynamo", _compilations.install)
    _compilations.listeners.clear()
    return _compilations


def watch(emitter, compilations):
    if not _compilers:
        _compilers.append(Compiler(emitter))
        _compilers[0].install()
    compilations.listeners.append((_compilers[0].begins, _compilers[0].ends))


class Compiler:
    """Stays in the program once it is there. What it reports goes nowhere where nobody listens."""

    def __init__(self, emitter):
        self.emitter = emitter
        self.level = self.thread = None
        self.seen = 0  # breaks of graphs that are reported
        self.utils = None

    def install(self):
        lacuna_start.after_import("torch._dynamo", self.watch_dynamo)
        for name in ("cpp", "triton"):
            lacuna_start.after_import(f"torch._inductor.codegen.{name}", self.note_kernels)
        lacuna_start.after_import("torch._inductor.codecache", self.watch_code)

    # --- compilations

    def begins(self):
        self.thread = threading.get_ident()
        self.level = self.emitter.open(PHASE, b"compile")
        self.emitter.pass_over(1)

    def ends(self):
        if self.thread == threading.get_ident():
            self.emitter.pass_over(0)
            self.emitter.close(self.level)
        self.thread = None
        self.report_breaks()

    def watch_dynamo(self, dynamo):
        self.utils = dynamo.utils
        frames = dynamo.convert_frame
        for name in ("get_and_maybe_log_recompilation_reasons", "get_and_maybe_log_recompilation_reason"):
            if hasattr(frames, name):
                setattr(frames, name, self.reports_reasons(getattr(frames, name)))

    def reports_reasons(self, original):
        @functools.wraps(original)
        def reasons(entries, frame, *arguments, **named):
            found = original(entries, frame, *arguments, **named)
            lacuna_start.guarded(lambda: self.report_recompilation(frame.f_code, found))
            return found

        return reasons

    def report_recompilation(self, code, reasons):
        why = in_one_line(reasons[0]) if reasons else "no guard of the code compiled before holds"
        self.remark(b"recompilation", f"{place(code.co_filename, code.co_firstlineno)} {code.co_name}: {why}")

    def report_breaks(self):
        reasons = getattr(self.utils, "graph_break_reasons", None) or []
        fresh = reasons[self.seen :] if len(reasons) >= self.seen else reasons
        self.seen = len(reasons)
        lines = {}
        for reason in fresh:  # a compilation that begins anew finds the same break again
            where = f"{place(reason.user_stack[-1].filename, reason.user_stack[-1].lineno)}: " if reason.user_stack else ""
            lines[where + in_one_line(reason.reason)] = None
        for line in lines:
            self.remark(b"graph break", line)

    def remark(self, name, text):
        self.emitter.remark(name, text[:LONGEST].encode(errors="replace"))

    # --- kernels

    def note_kernels(self, codegen):
        """Inductor decides there what one kernel computes. The note goes into the code that it writes, and so is there
        when the code comes from a cache."""
        original = getattr(codegen, "set_kernel_post_grad_provenance_tracing", None)
        if original is None:
            return

        @functools.wraps(original)
        def traces(nodes, name, *arguments, **named):
            lacuna_start.guarded(lambda: self.write_note(nodes, name))
            return original(nodes, name, *arguments, **named)

        codegen.set_kernel_post_grad_provenance_tracing = traces

    @staticmethod
    def write_note(nodes, name):
        from torch._inductor.virtualized import V

        origins = {}
        for scheduled in nodes:
            origins.update(dict.fromkeys(getattr(getattr(scheduled, "node", None), "origins", None) or ()))
        places = {node: number for number, node in enumerate(V.graph.graph.nodes)}
        ordered = sorted((node for node in origins if node.op == "call_function"), key=lambda node: places.get(node, 0))
        wrapper = V.graph.wrapper_code
        wrapper.writeline(f"{wrapper.comment} {NOTE} {name}: {origin_of(ordered)}")

    def watch_code(self, codecache):
        cache = codecache.PyCodeCache
        for module in list(cache.modules):
            self.watch_module(module)
        original = cache.__dict__["load_by_key_path"].__func__

        @functools.wraps(original)
        def load_by_key_path(cls, *arguments, **named):
            module = original(cls, *arguments, **named)
            lacuna_start.guarded(lambda: self.watch_module(module))
            return module

        cache.load_by_key_path = classmethod(load_by_key_path)

    def watch_module(self, module):
        """Puts a function of ours in the place of each kernel that the module of generated code calls."""
        if "lacuna_kernels" in vars(module) or not getattr(module, "__file__", None):
            return
        module.lacuna_kernels = True
        with open(module.__file__, encoding="utf-8") as file:
            notes = dict(re.findall(rf"^\s*# {NOTE} (\w+): (.*)$", file.read(), re.MULTILINE))
        for name, kernel in list(vars(module).items()):
            if name.startswith("cpp_") and callable(kernel):
                setattr(module, name, self.watched(kernel, name, notes))
            elif name.startswith("triton_") and callable(getattr(kernel, "run", None)):
                kernel.run = self.watched(kernel.run, name, notes)  # the object's own, in front of its class's

    def watched(self, kernel, name, notes):
        return self.emitter.watched_kernel(kernel, name.encode(), notes.get(name, "").encode())
