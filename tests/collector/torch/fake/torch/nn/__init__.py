# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
import os

from . import modules
from .modules.module import Module

if not os.environ.get("FAKE_WITHOUT_MODULES"):
    from .modules.module import Identity, Sequential
