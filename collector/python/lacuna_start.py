# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Starts what watches a Python program: its lines from the first moment on, PyTorch once the program has imported it. A
program that never imports torch loads this file and lacuna_frames.py, and no more."""

import functools
import os
import sys

import lacuna_frames

_HERE = os.path.dirname(os.path.abspath(__file__))


def _ours(name):
    """A module of this folder, which does not stay on the program's path."""
    sys.path.insert(0, _HERE)
    try:
        return __import__(name)
    finally:
        sys.path.remove(_HERE)


# collector/src/core/cupti_places.h has the same names, for lacuna doctor.
_CUPTI = (
    "nvidia/cu13/lib/libcupti.so.13",
    "nvidia/cuda_cupti/lib/libcupti.so.12",
    "triton/backends/nvidia/lib/cupti-blackwell/libcupti.so.13",
    "triton/backends/nvidia/lib/cupti/libcupti.so.12",
)


def _announce_cupti():
    """Where this program's packages have CUPTI, for the recorder that the CUDA driver loads into it later."""
    if "CUDA_INJECTION64_PATH" not in os.environ:
        return
    places = [os.path.join(folder, name) for folder in dict.fromkeys(sys.path) for name in _CUPTI]
    found = [place for place in places if os.path.exists(place)]
    if found:
        os.environ["LACUNA_PYTHON_CUPTI"] = ":".join(found)


class AfterImport:
    """Finds a module as the other finders do, and calls back before it runs and when it has run to its end."""

    def __init__(self, name, then, before):
        self.name = name
        self.then = then
        self.before = before

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find is not None else None
            if spec is None:
                continue
            if spec.loader is not None:
                self.wrap(spec.loader)
            return spec
        sys.meta_path.insert(0, self)  # it is not there (yet); look again the next time
        return None

    def wrap(self, loader):
        original = loader.exec_module

        def exec_module(module):
            loader.__dict__.pop("exec_module", None)
            guarded(self.before)
            original(module)
            guarded(lambda: self.then(module))

        loader.exec_module = exec_module


def after_import(name, then, before=lambda: None):
    """Calls `then` with the module, now or when it is there; and `before` just before it runs."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, AfterImport(name, then, before))


_reported = set()


def guarded(work):
    """Runs work of ours in the middle of the program's. An error is reported once, and the program goes on."""
    try:
        work()
    except Exception as error:
        line = f"{type(error).__name__}: {error}"
        if line not in _reported:
            _reported.add(line)
            print(f"lacuna: a part of the program is not watched: {line}", file=sys.stderr)


def _watch_bars():
    """The first progress bar that appears: importing such a library shows none."""

    def calls(holder, name, kind):
        original = getattr(holder, name)

        @functools.wraps(original)
        def draw(*arguments, **named):
            lacuna_frames.draw_a_bar()
            return original(*arguments, **named)

        setattr(holder, name, kind(draw))

    after_import("tqdm.std", lambda module: calls(module.tqdm, "status_printer", staticmethod))
    after_import("rich.live", lambda module: calls(module.Live, "start", lambda function: function))


def _guests():
    """The work besides watching that the environment asks for: it applies settings and times steps."""
    found = []
    if os.environ.get("LACUNA_SET"):
        settings = _ours("lacuna_set").Settings(os.environ["LACUNA_SET"], os.environ.get("LACUNA_SET_REPORT") or None)
        settings.prepare()
        found.append(lambda torch: settings.install(torch, _ours("lacuna_operators").runs_on_cpu_only(torch)))
    if os.environ.get("LACUNA_STEP_TIMES"):
        found.append(_ours("lacuna_steps").prepare(_ours("lacuna_training").Steps))
    return found


def _on_torch(torch, guests):
    if lacuna_frames.Announcer.failure:
        print(f"lacuna: Python lines are not recorded: {lacuna_frames.Announcer.failure}", file=sys.stderr)
    try:
        if os.environ.get("LACUNA_STANDBY"):
            _ours("lacuna_standby").prepare(torch)
        else:
            _ours("lacuna_torch").watch(torch)
    except Exception as error:
        print(f"lacuna: PyTorch is not watched: {error}", file=sys.stderr)
    for guest in guests:  # after what watches, so in front of it: it shall see what they change
        try:
            guest(torch)
        except Exception as error:
            print(f"lacuna: PyTorch is left as it is: {type(error).__name__}: {error}", file=sys.stderr)


def begin():
    lacuna_frames.announce()
    _announce_cupti()
    _watch_bars()
    guests = _guests()
    after_import("torch", lambda torch: _on_torch(torch, guests))
