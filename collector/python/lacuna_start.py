# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Starts what watches a Python program: its lines from the first moment on, PyTorch once the program has imported it. A
program that never imports torch loads this file and lacuna_frames.py, and no more."""

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
    """Finds torch as the other finders do, and calls back when its module has run to its end."""

    def __init__(self, name, then):
        self.name = name
        self.then = then

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
            original(module)
            self.then(module)

        loader.exec_module = exec_module


def after_import(name, then):
    """Calls `then` with the module, now or when it is there."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, AfterImport(name, then))


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
    guests = _guests()
    after_import("torch", lambda torch: _on_torch(torch, guests))
