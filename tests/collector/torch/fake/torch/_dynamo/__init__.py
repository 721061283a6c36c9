# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""The part of the compiler that the hook touches."""

from . import callback, convert_frame, utils  # noqa: F401


def reset():
    callback.callback_handler.clear()
    utils.graph_break_reasons.clear()
