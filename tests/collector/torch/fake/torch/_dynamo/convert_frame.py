# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
def get_and_maybe_log_recompilation_reasons(entries, frame, backend):
    return entries
