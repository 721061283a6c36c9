# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
def set_kernel_post_grad_provenance_tracing(nodes, name, is_extern=False):
    return None


def define(nodes, name):
    set_kernel_post_grad_provenance_tracing(nodes, name)
