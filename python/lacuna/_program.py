# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Finds and calls the program that is installed with this module."""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import shutil
import subprocess

DISTRIBUTION = "lacuna-profiler"


class Error(RuntimeError):
    """The standard error of the lacuna command, or the reason why it could not be started."""


def version() -> str:
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:  # from a source tree
        return "unknown"


def _installed() -> pathlib.Path | None:
    try:
        files = importlib.metadata.files(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.parts[-2:] == ("bin", "lacuna"):
            return pathlib.Path(os.path.normpath(file.locate()))
    return None


def program() -> pathlib.Path:
    """The path of the lacuna command: of this package, else the first on the PATH. LACUNA_PROGRAM names another."""
    chosen = os.environ.get("LACUNA_PROGRAM")
    found = pathlib.Path(chosen) if chosen else _installed()
    if found is None:
        on_path = shutil.which("lacuna")
        found = pathlib.Path(on_path) if on_path else None
    if found is None:
        raise Error(f"the command lacuna is not installed. Remedy: pip install {DISTRIBUTION}")
    if not os.access(found, os.X_OK):
        raise Error(f"{found} is not there or may not be run. Remedy: " + (
            "unset LACUNA_PROGRAM" if chosen else f"pip install --force-reinstall {DISTRIBUTION}"))
    return found


def call(*words: str) -> str:
    """The standard output of the command."""
    try:
        done = subprocess.run([program(), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Error(f"{program()} cannot be run: {error}") from error
    if done.returncode != 0:
        message = done.stderr.strip().removeprefix("lacuna: error: ")
        raise Error(message or f"lacuna {words[0]} ended with {done.returncode}")
    return done.stdout
