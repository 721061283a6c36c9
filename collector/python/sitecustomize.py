# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Python runs this when it starts in a folder that `lacuna run` put in front of PYTHONPATH. It prepares to watch PyTorch,
should the program import it, and hands on to the sitecustomize that it stands in front of.

Any Python may find this file, so it must be readable from Python 2.7 on. What watches needs 3.9."""


def _users_own(elsewhere):
    """Runs the sitecustomize of the program's own path, where there is one."""
    import sys

    if sys.version_info < (3, 5):
        import imp

        try:
            found = imp.find_module("sitecustomize", elsewhere)
        except ImportError:
            return
        imp.load_module("sitecustomize", *found)
        return

    import importlib.machinery
    import importlib.util

    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is None or spec.loader is None:
        return
    users = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = users
    spec.loader.exec_module(users)


def _start():
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    elsewhere = [folder for folder in sys.path if os.path.abspath(folder or os.curdir) != here]
    try:
        if sys.version_info >= (3, 9):
            sys.path.insert(0, here)
            import lacuna_start

            lacuna_start.begin()
    except Exception as error:  # a profiler must not be why a program does not start
        sys.stderr.write("lacuna: Python is not watched: %s\n" % error)
    finally:
        sys.path[:] = elsewhere
    _users_own(elsewhere)


_start()
