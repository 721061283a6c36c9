// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "torch/python_api.h"

/// Calls of functions that a compiler wrote while the program ran. PyTorch's observers do not see
/// them.
namespace lacuna::collector::torch {

/// A new function that calls `function` and reports each call as an operator of that name, with its
/// origin as details. Null where Python cannot be reached.
Object* watchedKernel(Object* function, const char* name, const char* origin);
/// Passes calls straight on while it is off.
void recordKernels(bool on);

}  // namespace lacuna::collector::torch
