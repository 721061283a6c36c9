// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "torch/python_api.h"

/// A range around each call of a torch.nn.Module. PyTorch's own hooks around such calls are
/// functions of Python, and make PyTorch take a longer way to the module: that was 2 to 4 µs a
/// call. This takes the place of Module.__call__ instead. Python code runs only where something is
/// new: a step, and a module that has no name yet. The outermost module with gradients switched on
/// is the forward phase. In evaluation mode it is the evaluation, with or without gradients.
namespace lacuna::collector::torch {

/// Functions of Python. An exception in one of them is reported, and does not reach the program.
struct ModuleWatchers {
  Object* gradients;  ///< of (): whether they are switched on
  Object* begins;     ///< of (): a forward begins while no step is open
  Object* unknown;    ///< of (module): names it and what is in it
  Object* norm;    ///< of (norm, id of the layer that was called last): the first call of each norm
  Object* inside;  ///< of (module), while wanted
};

/// A new method that calls `original`, for the caller to put into `type`. Null where Python cannot
/// be reached.
Object* moduleCallMethod(Object* type, Object* original, const ModuleWatchers& watchers);
/// Passes calls straight on while it is off.
void watchModules(bool on);
/// Ranges of modules. The phase of an outermost module is recorded without them, too.
void recordModules(bool on);
/// Whether `inside` is called.
void callInsideModules(bool on);
/// A recording that begins inside a step does not know of it, and asks Python.
void noteStep(bool isOpen);
/// Forward phases so far.
std::uint64_t forwards();

void nameModule(const void* module, const char* name, bool isNorm);
/// It is gone, and its address may become another's.
void forgetModule(const void* module);

}  // namespace lacuna::collector::torch
