# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
import torch

graph_break_reasons = []
unpatched_nn_module_call = torch.nn.Module.__call__  # what the compiler takes for PyTorch's own
