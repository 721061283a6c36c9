// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "torch/module_calls.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "torch/emitter.h"
#include "torch/memory.h"

namespace lacuna::collector::torch {
namespace {

struct Name {
  Name(const char* words, bool isNorm) : text(words), isNewNorm(isNorm) {}
  std::string text;
  std::atomic<bool> isNewNorm;
};

/// A Python without the global lock calls modules from several threads at once.
class ModuleNames {
 public:
  /// Stays as long as the module, so as long as its call.
  Name* find(const void* module) {
    const std::shared_lock lock(mutex_);
    const auto found = names_.find(module);
    return found != names_.end() ? &found->second : nullptr;
  }
  void put(const void* module, const char* name, bool isNorm) {
    const std::lock_guard lock(mutex_);
    names_.erase(module);
    names_.try_emplace(module, name, isNorm);
  }
  void erase(const void* module) {
    const std::lock_guard lock(mutex_);
    names_.erase(module);
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<const void*, Name> names_;
};

// Never destroyed: modules die, and are called, after static objects are gone.
ModuleNames& gNames = *new ModuleNames;
/// Our newest method calls `gOriginal`, our first one PyTorch's own call, `gInnermost`. They differ
/// where the program has put a function around the first method: the newest one then calls that
/// function, which calls the first method.
Object* gOriginal = nullptr;
Object* gInnermost = nullptr;
ModuleWatchers gWatchers{};
std::atomic<bool> gWatch{false}, gRecord{true}, gInside{false}, gStepIsOpen{false};
std::atomic<std::uint64_t> gForwards{0};
constexpr std::uint8_t kActivation = 3;  ///< a role of memory in docs/nvtx-schema.md

/// The calls of this thread. A leaf is a module in which no other was called.
struct Calls {
  unsigned depth = 0;
  bool calledInside = false;
  void* leaf = nullptr;              ///< the last one; may be gone
  const Object* handedOn = nullptr;  ///< the module whose call has just gone on to gOriginal
};
thread_local Calls tCalls;

/// For what a watcher does.
void ignore(const PythonApi& python, Object* result, Object* where) {
  if (result != nullptr) {
    python.decRef(result);
  } else {
    python.reportError(where);
  }
}

/// Takes the object over. True where there is none.
bool isTrue(const PythonApi& python, Object* object, Object* where) {
  const int truth = object != nullptr ? python.isTrue(object) : -1;
  if (truth < 0) python.reportError(where);
  if (object != nullptr) python.decRef(object);
  return truth != 0;
}

bool trains(const PythonApi& python, Object* module) {
  static Object* const name = python.lastingText("training");
  Object* training = python.attribute(module, name);
  if (training != nullptr || python.errorIs(*python.attributeError) == 0)
    return isTrue(python, training, module);
  python.clearError();
  return true;
}

/// The phase that an outermost module is; -1 for none.
int openPhase(const PythonApi& python, Object* module) {
  if (!trains(python, module)) return open(Category::Phase, "evaluation");
  if (!isTrue(python, python.callWith(gWatchers.gradients, nullptr), module)) return -1;
  gForwards.fetch_add(1, std::memory_order_relaxed);
  if (!gStepIsOpen.load(std::memory_order_relaxed))
    ignore(python, python.callWith(gWatchers.begins, nullptr), module);
  const int level = open(Category::Phase, "forward");
  setRole(kActivation);
  return level;
}

Name* nameOf(const PythonApi& python, Object* module) {
  Name* name = gNames.find(module);
  if (name != nullptr) return name;
  ignore(python, python.callWith(gWatchers.unknown, module, nullptr), module);
  return gNames.find(module);
}

void meetNorm(const PythonApi& python, Object* norm, void* leaf) {
  Object* id = python.intOf(leaf);
  if (id == nullptr) return python.reportError(norm);
  ignore(python, python.callWith(gWatchers.norm, norm, id, nullptr), norm);
  python.decRef(id);
}

/// From the begin of a module's call to its end, also where it ends with an exception.
class ModuleCall {
 public:
  ModuleCall(const PythonApi& python, Object* module) : module_(module), calls_(tCalls) {
    if (calls_.depth++ == 0) phase_ = openPhase(python, module);
    if (!gRecord.load(std::memory_order_relaxed)) return;
    Name* name = nameOf(python, module);
    if (name != nullptr && name->isNewNorm.load(std::memory_order_relaxed) &&
        name->isNewNorm.exchange(false))
      meetNorm(python, module, calls_.leaf);
    if (gInside.load(std::memory_order_relaxed))
      ignore(python, python.callWith(gWatchers.inside, module, nullptr), module);
    range_ = open(Category::Module, name != nullptr ? name->text.c_str() : "Module");
    calls_.calledInside = false;
  }
  ~ModuleCall() {
    closeTo(range_);
    if (!calls_.calledInside) calls_.leaf = module_;
    calls_.calledInside = true;
    if (--calls_.depth != 0 || phase_ < 0) return;
    closeTo(phase_);
    setRole(0);
  }
  ModuleCall(const ModuleCall&) = delete;
  ModuleCall& operator=(const ModuleCall&) = delete;

 private:
  Object* module_;
  Calls& calls_;
  int phase_ = -1, range_ = -1;
};

Object* callOn(const PythonApi& python, Object* to, Object* module, Object* args, Object* named) {
  const std::ptrdiff_t count = python.tupleSize(args);
  Object* all = python.newTuple(count + 1);
  if (all == nullptr) return nullptr;
  python.incRef(module);
  python.setTupleItem(all, 0, module);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    Object* item = python.tupleItem(args, i);
    python.incRef(item);
    python.setTupleItem(all, i + 1, item);
  }
  Object* result = python.call(to, all, named);
  python.decRef(all);
  return result;
}

Object* callModule(Object* module, Object* args, Object* named) {
  const PythonApi& python = *pythonApi();
  const Object* handedOn = std::exchange(tCalls.handedOn, nullptr);
  if (handedOn == module && gOriginal != gInnermost)
    return callOn(python, gInnermost, module, args, named);
  const bool isWatched = gWatch.load(std::memory_order_relaxed) && listening();
  std::optional<ModuleCall> call;
  if (isWatched) call.emplace(python, module);
  tCalls.handedOn = module;
  Object* result = callOn(python, gOriginal, module, args, named);
  tCalls.handedOn = nullptr;
  return result;
}

}  // namespace

Object* moduleCallMethod(Object* type, Object* original, const ModuleWatchers& watchers) {
  // The first words are how Python writes a signature, which programs may ask for.
  static constexpr MethodDefinition kDefinition{
      "__call__", callModule, kAnyArguments,
      "__call__($self, /, *args, **kwargs)\n--\n\nCalls the module."};
  const PythonApi* python = pythonApi();
  if (python == nullptr) return nullptr;
  for (Object* kept : {original, watchers.gradients, watchers.begins, watchers.unknown,
                       watchers.norm, watchers.inside})
    python->incRef(kept);
  gOriginal = original;
  if (gInnermost == nullptr) gInnermost = original;
  gWatchers = watchers;
  return python->newMethod(type, &kDefinition);
}

void watchModules(bool on) {
  gWatch.store(on, std::memory_order_relaxed);
  noteStep(false);  // nobody reports its end meanwhile
}

void recordModules(bool on) {
  gRecord.store(on, std::memory_order_relaxed);
}

void callInsideModules(bool on) {
  gInside.store(on, std::memory_order_relaxed);
}

void noteStep(bool isOpen) {
  gStepIsOpen.store(isOpen, std::memory_order_relaxed);
}

std::uint64_t forwards() {
  return gForwards.load(std::memory_order_relaxed);
}

void nameModule(const void* module, const char* name, bool isNorm) {
  gNames.put(module, name, isNorm);
}

void forgetModule(const void* module) {
  gNames.erase(module);
}

}  // namespace lacuna::collector::torch
