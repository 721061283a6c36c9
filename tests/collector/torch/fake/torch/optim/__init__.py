# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
from .optimizer import LBFGS, Adam, AdamW, Optimizer

del optimizer  # as PyTorch does
