// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "torch/call_lines.h"
#include "torch/emitter.h"
#include "torch/kernel_calls.h"
#include "torch/memory.h"
#include "torch/module_calls.h"
#include "torch/observer.h"
#include "torch/program_steps.h"

// The functions that the start-up hook (collector/python) and the package (python/lacuna) call.
// Numbers and texts only; pointers are valid for the call.
using namespace lacuna::collector::torch;

#define LACUNA_ENTRY_POINT extern "C" __attribute__((visibility("default")))

LACUNA_ENTRY_POINT int lacunaTorchListening() {
  return listening() ? 1 : 0;
}
LACUNA_ENTRY_POINT void lacunaTorchRecord(int on) {
  if (on != 0) announceQueueAgain();
  beQuiet(on == 0);
}
LACUNA_ENTRY_POINT int lacunaTorchObserve(std::uint32_t scopes, std::uint32_t userScope,
                                          int withInputs) {
  return static_cast<int>(observe(scopes, userScope, withInputs != 0));
}
LACUNA_ENTRY_POINT void lacunaTorchExecutions(int on) {
  emitExecutions(on != 0);
}
LACUNA_ENTRY_POINT void lacunaTorchExpectSequence(std::int64_t expected) {
  expectSequence(expected);
}
LACUNA_ENTRY_POINT int lacunaTorchSettleSequence() {
  return settleSequence();
}
LACUNA_ENTRY_POINT void lacunaTorchExpectInputs(const void* first, const void* second,
                                                const std::int64_t* shape, std::uint32_t type,
                                                int inList) {
  TrialTensors tensors{.first = first, .second = second, .type = static_cast<std::uint16_t>(type)};
  std::copy_n(shape, TrialTensors::kDims, tensors.shape);
  expectInputs(tensors, inList != 0);
}
LACUNA_ENTRY_POINT int lacunaTorchSettleInputs() {
  return settleInputs() ? 1 : 0;
}
LACUNA_ENTRY_POINT int lacunaTorchWatchMemory(int cpu) {
  return watchMemory(cpu != 0);
}
LACUNA_ENTRY_POINT void lacunaTorchRole(std::uint32_t role) {
  setRole(static_cast<std::uint8_t>(role));
}
LACUNA_ENTRY_POINT void lacunaTorchTensor(std::uint64_t address, std::uint64_t bytes,
                                          std::uint32_t role, std::int32_t cudaDevice,
                                          const char* name) {
  attributeTensor(address, bytes, static_cast<std::uint8_t>(role), cudaDevice, name);
}
LACUNA_ENTRY_POINT int lacunaTorchOpen(std::uint32_t category, const char* name) {
  return open(static_cast<Category>(category), name);
}
LACUNA_ENTRY_POINT int lacunaTorchOpenStep(std::uint64_t index, std::uint64_t samples, int plain) {
  noteStep(true);
  return openStep(index, samples, plain != 0);
}
LACUNA_ENTRY_POINT void lacunaTorchCloseStep(int level) {
  closeTo(level);
  noteStep(false);
}
/// The places in the order of FramePlaces.
LACUNA_ENTRY_POINT int lacunaTorchCallLines(const std::int64_t* places, const char* pytorch,
                                            const char* library) {
  const auto offset = [&](int which) { return static_cast<std::uint32_t>(places[which]); };
  const auto maybe = [&](int which) { return static_cast<std::int32_t>(places[which]); };
  const FramePlaces found{.frame = offset(0),
                          .viaFrame = maybe(1),
                          .back = offset(2),
                          .code = offset(3),
                          .instruction = offset(4),
                          .numberScale = offset(5),
                          .owner = maybe(6),
                          .bytecode = offset(7)};
  return findCallLines(found, {pytorch, library}) ? 1 : 0;
}
/// Null where Python cannot be reached.
LACUNA_ENTRY_POINT Object* lacunaTorchWatchedKernel(Object* function, const char* name,
                                                    const char* origin) {
  return watchedKernel(function, name, origin);
}
LACUNA_ENTRY_POINT void lacunaTorchPassOver(int on) {
  passOver(on != 0);
}
LACUNA_ENTRY_POINT void lacunaTorchRemark(const char* name, const char* words) {
  remark(name, words);
}
/// Operators, modules and allocations: from the begin of a plain step to its end they are not
/// recorded.
LACUNA_ENTRY_POINT void lacunaTorchDetail(int on) {
  observeDetail(on != 0);
  recordKernels(on != 0);
  recordModules(on != 0);
  recordAllocations(on != 0);
}
/// The watchers are functions of Python. Null where Python cannot be reached.
LACUNA_ENTRY_POINT Object* lacunaTorchModuleCalls(Object* type, Object* original, Object* gradients,
                                                  Object* begins, Object* unknown, Object* norm,
                                                  Object* inside) {
  return moduleCallMethod(type, original, {gradients, begins, unknown, norm, inside});
}
LACUNA_ENTRY_POINT std::uint64_t lacunaTorchForwards() {
  return forwards();
}
LACUNA_ENTRY_POINT void lacunaTorchWatchModules(int on) {
  watchModules(on != 0);
}
LACUNA_ENTRY_POINT void lacunaTorchCallInsideModules(int on) {
  callInsideModules(on != 0);
}
LACUNA_ENTRY_POINT void lacunaTorchNameModule(const void* module, const char* name, int isNorm) {
  nameModule(module, name, isNorm != 0);
}
LACUNA_ENTRY_POINT void lacunaTorchForgetModule(const void* module) {
  forgetModule(module);
}
LACUNA_ENTRY_POINT void lacunaTorchProgramStep(std::int64_t beginNs, std::int64_t endNs) {
  emitProgramStep(beginNs, endNs);
}
LACUNA_ENTRY_POINT int lacunaTorchOpenLoader(const char* stage, std::uint64_t batch,
                                             std::uint32_t loader, std::int32_t worker) {
  return openLoader(stage, {batch, loader, worker});
}
LACUNA_ENTRY_POINT void lacunaTorchClose(int level) {
  closeTo(level);
}
LACUNA_ENTRY_POINT void lacunaTorchRehearse(int on) {
  rehearse(on != 0);
}
LACUNA_ENTRY_POINT void lacunaTorchKnob(const char* name, const char* value) {
  knob(name, value);
}
LACUNA_ENTRY_POINT void lacunaTorchLoaderDepth(std::uint32_t loader, std::int64_t ready) {
  loaderDepth(loader, ready);
}
LACUNA_ENTRY_POINT void lacunaTorchNameThread(const char* name) {
  nameThread(name);
}
/// Nothing of the watchers is called from here on, until they are put in place again.
LACUNA_ENTRY_POINT void lacunaTorchLeave() {
  stopObserving();
  stopWatchingMemory();
  watchModules(false);
}
