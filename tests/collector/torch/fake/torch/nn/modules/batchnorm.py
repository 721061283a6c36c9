# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
from .module import Module


class _BatchNorm(Module):
    def forward(self, value):
        return value
