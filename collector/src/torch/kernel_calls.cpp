// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "torch/kernel_calls.h"

#include <atomic>
#include <string>

#include "torch/emitter.h"
#include "torch/observer.h"

namespace lacuna::collector::torch {
namespace {

std::atomic<bool> gRecordKernels{true};

/// One for each function, for as long as the process lives: compiled code is kept in caches, and
/// our functions with it.
struct Kernel {
  Object* function;
  std::string name, origin;
};

class KernelCall {
 public:
  explicit KernelCall(const Kernel& kernel)
      : isOpen_(gRecordKernels.load(std::memory_order_relaxed) && listening()) {
    if (isOpen_) openCall(kernel.name.c_str(), kernel.origin.c_str(), this);
  }
  ~KernelCall() {
    if (isOpen_) closeOwner(this);
  }
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

 private:
  bool isOpen_;
};

Object* callKernel(Object* self, Object* args, Object* named) {
  const PythonApi& python = *pythonApi();
  const auto& kernel = *static_cast<const Kernel*>(python.pointerOf(self));
  const KernelCall call(kernel);
  return python.call(kernel.function, args, named);
}

}  // namespace

Object* watchedKernel(Object* function, const char* name, const char* origin) {
  static constexpr MethodDefinition kDefinition{
      "kernel", callKernel, kAnyArguments,
      "kernel(*args, **kwargs)\n--\n\nCalls the kernel of compiled code."};
  const PythonApi* python = pythonApi();
  if (python == nullptr) return nullptr;
  python->incRef(function);
  Object* self = python->intOf(new Kernel{function, name, origin});
  if (self == nullptr) return nullptr;
  Object* result = python->newFunction(&kDefinition, self, nullptr);
  python->decRef(self);  // the function has its own
  return result;
}

void recordKernels(bool on) {
  gRecordKernels.store(on, std::memory_order_relaxed);
}

}  // namespace lacuna::collector::torch
