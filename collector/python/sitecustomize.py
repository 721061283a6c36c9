# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Python runs this when it starts in a folder that `lacuna run --torch` put in front of PYTHONPATH. It prepares to watch
PyTorch, should the program import it, and hands on to the sitecustomize that it stands in front of."""


def _start():
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    elsewhere = [folder for folder in sys.path if os.path.abspath(folder or os.curdir) != here]
    try:
        sys.path.insert(0, here)
        import lacuna_frames
        import lacuna_torch

        lacuna_frames.announce()
        lacuna_torch.watch_for_torch()
    except Exception as error:  # a profiler must not be why a program does not start
        print(f"lacuna: PyTorch is not watched: {error}", file=sys.stderr)
    finally:
        sys.path[:] = elsewhere

    import importlib.machinery
    import importlib.util

    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is None or spec.loader is None:
        return
    users = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = users
    spec.loader.exec_module(users)


_start()
