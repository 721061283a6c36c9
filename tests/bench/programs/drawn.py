# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The options of benchmarks that draw programs by seed."""

import os
import random
import sys

import runtime_programs
import score

HERE = os.path.dirname(os.path.abspath(__file__))


def add_options(parser, folder):
    """`folder` has lacuna where --bin names no other one."""
    parser.add_argument("--seeds", type=int, default=0, help="record so many PyTorch programs, drawn by seed")
    parser.add_argument("--runtime", action="store_true", help="with --seeds: programs of our own runtime")
    parser.add_argument("--from", dest="first", type=int, help="the first seed (default: a new one, which is printed)")
    parser.add_argument("--python", default="", help="an interpreter that has PyTorch (default: that of scripts/try-pytorch)")
    parser.add_argument("--seconds", type=float, default=4, help="that each program trains at least (default: 4)")
    parser.add_argument("--bin", default=folder, help="the folder with lacuna (default: that of the release build)")


def kind_of(args, benchmark):
    if args.runtime:
        return runtime_programs.Programs(os.path.join(args.bin, "drawn_training"), args.seconds)
    python = args.python or os.path.join(HERE, "..", "..", "..", "build", "try-pytorch", "venv", "bin", "python")
    if not os.path.exists(python):
        sys.exit(f"{benchmark}: there is no {python}: run scripts/try-pytorch once, or name an interpreter that has PyTorch with --python")
    return score.TorchPrograms(python, args.seconds)


def seeds_of(args):
    first = random.randrange(1_000_000) if args.first is None else args.first
    print(f"seeds {first} to {first + args.seeds - 1}", file=sys.stderr)
    return range(first, first + args.seeds)
