# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Makes handles of NVIDIA's libraries from a folder of wheels, which fails without a GPU and is annotated all the same:
libraries.py SITE_PACKAGES/nvidia"""

import ctypes
import glob
import os
import sys


def load(pattern):
    found = sorted(glob.glob(os.path.join(sys.argv[1], "**", pattern), recursive=True))
    return ctypes.CDLL(found[0], ctypes.RTLD_GLOBAL) if found else None


for needed in ("libcudart.so.*", "libnvrtc.so.*", "libcublasLt.so.*"):
    try:
        load(needed)
    except OSError:
        pass

handle = ctypes.c_void_p()
for name, pattern, call in (
    ("cublas", "libcublas.so.*", lambda lib: lib.cublasCreate_v2(ctypes.byref(handle))),
    ("cudnn", "libcudnn.so.*", lambda lib: lib.cudnnCreate(ctypes.byref(handle))),
    ("nccl", "libnccl.so.*", lambda lib: lib.ncclCommInitAll(ctypes.byref(handle), 1, None)),
):
    try:
        library = load(pattern)
        print(f"{name}: " + (f"returned {call(library)}" if library else "not there"))
    except (OSError, AttributeError) as error:
        print(f"{name}: not there: {error}")
