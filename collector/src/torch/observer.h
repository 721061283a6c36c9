// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "torch/inputs.h"

/// Sees every operator that PyTorch runs, through PyTorch's own observers (at::addGlobalCallback).
/// We are built without its headers and find the functions by name in the loaded libtorch_cpu. The
/// caller has checked that the installed header declares the callback as we do.
namespace lacuna::collector::torch {

enum class Observing : int {
  Ok = 0,
  NoLibrary = -1,    ///< libtorch_cpu is not loaded
  NoFunctions = -2,  ///< it lacks the functions
  Already = -3,
};

/// Registers the observer. `scopes`: how many record scopes this version has; `userScope`: the
/// number of that of record_function(). `withInputs`: PyTorch hands over each operator's inputs
/// too, which takes it some time.
Observing observe(std::uint32_t scopes, std::uint32_t userScope, bool withInputs);

/// Removes it. False where PyTorch has no function for that, or nothing was registered.
bool stopObserving();

/// Stops to observe operators and the nodes of the backward graph, or begins again. The ranges that
/// the program opens itself are observed all the time.
void observeDetail(bool on);

/// An operator that PyTorch does not report, up to closeOwner(owner). `origin` goes in the place of
/// the shapes of its inputs.
void openCall(const char* name, const char* origin, const void* owner);
/// While it is on, operators of this thread are not reported.
void passOver(bool on);

/// From now on reports the outermost operators of the main thread as executions of the CPU device
/// too, or no longer.
void emitExecutions(bool on);
/// Another recording has begun, which does not know the CPU's queue.
void announceQueueAgain();

/// Searches for the place where a RecordFunction keeps its autograd sequence number. Begins to
/// watch the operators of this thread for a place that holds `expected`.
void expectSequence(std::int64_t expected);
/// The place that held every number expected so far, once at least three were; -1 when there is
/// none or more than one.
int settleSequence();

/// The same for inputs: the next operator of this thread is called with these tensors, as trials of
/// Inputs are.
void expectInputs(const TrialTensors& tensors, bool inList);
/// From now on operators are reported with the shapes of their inputs. False where the trials did
/// not find them; PyTorch no longer hands inputs over then.
bool settleInputs();

}  // namespace lacuna::collector::torch
