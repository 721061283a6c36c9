// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "torch/observer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "torch/call_lines.h"
#include "torch/emitter.h"
#include "torch/inputs.h"

namespace lacuna::collector::torch {
namespace {

// PyTorch's types as far as the calls need them. RecordFunction is only ever used through its
// functions.
struct RecordFunction;
struct ObserverContext {
  virtual ~ObserverContext() = default;
};
using Started = std::unique_ptr<ObserverContext>;

/// The bytes of at::RecordFunctionCallback: two functions, a probability, one flag for each scope,
/// three flags.
struct Callback {
  Started (*start)(const RecordFunction&);
  void (*end)(const RecordFunction&, ObserverContext*);
  double probability;
  bool flags[24];
};
template <std::size_t Bytes>
struct Cut {
  unsigned char bytes[Bytes];
};

constexpr std::uint32_t kFunctionScope = 0;
constexpr std::uint32_t kBackwardScope = 1;
constexpr std::size_t kShapesRoom = 256;
constexpr std::size_t kDetailsRoom = kShapesRoom + 128;
constexpr std::size_t kWindow =
    384;  // bytes of a RecordFunction that are searched for the sequence number

const char* (*nameOf)(const RecordFunction*) = nullptr;
/// Our callback for one scope, and PyTorch's number for it while it is registered.
struct Watch {
  std::uint32_t scope;
  Started (*start)(const RecordFunction&);
  bool withInputs;
  std::optional<std::uint64_t> handle;
};
std::vector<Watch> watches;
std::atomic<int> sequenceAt{-1};
std::atomic<bool> executions{false};
std::atomic<bool> queueAnnounced{false};
pid_t mainProcess = 0;

/// Operators whose arguments are known, called to find where PyTorch keeps them.
enum class Trial { None, Sequence, Operands, List };
std::atomic<Trial> trial{Trial::None};
pid_t watcher = 0;
std::int64_t watched = 0;
bool candidates[kWindow / 8];
int rounds = 0;
TrialTensors trialTensors;
Inputs inputs;
std::atomic<bool> describesInputs{false};

pid_t threadId() {
  static thread_local const auto id = static_cast<pid_t>(syscall(SYS_gettid));
  return id;
}

void readSequence(const RecordFunction& function) {
  ++rounds;
  for (std::size_t i = 0; i < std::size(candidates); ++i) {
    std::int64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const unsigned char*>(&function) + i * 8, sizeof value);
    candidates[i] = (rounds == 1 || candidates[i]) && value == watched;
  }
}

void conductTrial(const RecordFunction& function) {
  if (threadId() != watcher) return;
  switch (trial.exchange(Trial::None)) {
    case Trial::Sequence:
      return readSequence(function);
    case Trial::Operands:
      return inputs.tryOperands(&function, trialTensors);
    case Trial::List:
      return inputs.tryList(&function, trialTensors);
    case Trial::None:
      return;
  }
}

/// PyTorch counts from 0, and -1 is none; the schema's none is 0.
std::uint64_t sequenceOf(const RecordFunction& function) {
  const int at = sequenceAt.load(std::memory_order_relaxed);
  if (at < 0) return 0;
  std::int64_t value = -1;
  std::memcpy(&value, reinterpret_cast<const unsigned char*>(&function) + at, sizeof value);
  return value < 0 ? 0 : static_cast<std::uint64_t>(value) + 1;
}

/// A forked child's main thread is not the program's. Asking the kernel at every operator would
/// take a tenth of what one costs.
std::atomic<bool> isForked{false};

bool onMainThread() {
  static thread_local const bool main = threadId() == mainProcess;
  return main && !isForked.load(std::memory_order_relaxed);
}

std::uint64_t nextCorrelation() {
  static std::atomic<std::uint64_t> correlations{0};
  return correlations.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool startsWith(const char* name, std::string_view prefix) {
  return std::strncmp(name, prefix.data(), prefix.size()) == 0;
}

/// The compiler tries operators on tensors without memory, which compute nothing.
thread_local bool tCompiles = false;

/// On a CPU the outermost operator of the main thread is its own execution.
void openExecuting(const char* name, OperatorNote note, const void* owner) {
  if (!queueAnnounced.load(std::memory_order_relaxed)) {
    queueAnnounced.store(true, std::memory_order_relaxed);
    announceCpuQueue();
  }
  note.correlation = nextCorrelation();
  openOperator(name, note, owner);
  openExecution(startsWith(name, kEvaluates) ? name + kEvaluates.size() : name, note.correlation,
                owner);
}

void openWithExecution(const char* name, const OperatorNote& note, const void* owner) {
  const bool executes = executions.load(std::memory_order_relaxed);
  if (executes && startsWith(name, "c10d::")) noteCollectiveCall(name, nextCorrelation());
  if (executes && operatorsOpen() == 0 && onMainThread() && !holdsCompiledCode(name)) {
    openExecuting(name, note, owner);
  } else {
    openOperator(name, note, owner);
  }
}

/// The shapes of its inputs, and the line that called an outermost operator. False without either.
bool writeDetails(const RecordFunction& function, char (&text)[kDetailsRoom]) {
  std::size_t length = describesInputs.load(std::memory_order_relaxed)
                           ? inputs.describe(&function, text, kShapesRoom)
                           : 0;
  const char* line = operatorsOpen() == 0 ? callLine() : nullptr;
  if (line == nullptr) return length > 0;
  const std::string_view between = length > 0 ? " at " : "at ";
  between.copy(text + length, between.size());
  length += between.size();
  std::strncpy(text + length, line, kDetailsRoom - 1 - length);
  text[kDetailsRoom - 1] = 0;
  return true;
}

Started startOperator(const RecordFunction& function) {
  if (trial.load(std::memory_order_relaxed) != Trial::None) conductTrial(function);
  if (tCompiles || !listening()) return nullptr;
  const auto sequence = sequenceOf(function);
  const auto direction = sequence != 0 ? Direction::Forward : Direction::None;
  char text[kDetailsRoom];
  const bool described = writeDetails(function, text);
  openWithExecution(
      nameOf(&function),
      {.sequence = sequence, .direction = direction, .shapes = described ? text : nullptr},
      &function);
  return nullptr;
}

/// A node of the backward graph, around the operators that it calls.
Started startBackward(const RecordFunction& function) {
  openOperator(nameOf(&function),
               {.sequence = sequenceOf(function), .direction = Direction::Backward}, &function);
  return nullptr;
}

Started startUserRange(const RecordFunction& function) {
  // The loader's wait has a range of its own, with the batch.
  const char* name = nameOf(&function);
  if (startsWith(name, "enumerate(DataLoader)#")) return nullptr;
  if (executions.load(std::memory_order_relaxed) && startsWith(name, "gloo:")) {
    openCollective(name, &function);
  } else {
    open(Category::None, name, &function);
  }
  return nullptr;
}

void endAny(const RecordFunction& function, ObserverContext*) {
  closeOwner(&function);
}

void* addFunction = nullptr;
void* removeFunction = nullptr;
std::uint32_t scopeCount = 0;

/// The callback is handed over by value: as many bytes as the installed header gives.
template <std::size_t Bytes>
std::uint64_t addSized(const Callback& callback) {
  Cut<Bytes> cut;
  std::memcpy(cut.bytes, &callback, sizeof cut.bytes);
  return reinterpret_cast<std::uint64_t (*)(Cut<Bytes>)>(addFunction)(cut);
}

void add(Watch& watch) {
  if (watch.handle) return;
  Callback callback{watch.start, endAny, 1.0, {}};
  callback.flags[watch.scope] = true;
  callback.flags[scopeCount] = watch.withInputs;
  const std::size_t bytes = (offsetof(Callback, flags) + scopeCount + 3 + 7) / 8 * 8;
  if (bytes == 32) watch.handle = addSized<32>(callback);
  if (bytes == 40) watch.handle = addSized<40>(callback);
  if (bytes == 48) watch.handle = addSized<48>(callback);
}

void remove(Watch& watch) {
  if (!watch.handle) return;
  reinterpret_cast<void (*)(std::uint64_t)>(removeFunction)(*watch.handle);
  watch.handle.reset();
}

/// A program opens its own ranges where it wants to see them, and they are few.
bool isDetail(const Watch& watch) {
  return watch.start != startUserRange;
}

}  // namespace

Observing observe(std::uint32_t scopes, std::uint32_t userScope, bool withInputs) {
  if (!watches.empty()) return Observing::Already;
  void* library = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return Observing::NoLibrary;
  addFunction = dlsym(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
  removeFunction = dlsym(library, "_ZN2at14removeCallbackEm");
  void* name = dlsym(library, "_ZNK2at14RecordFunction4nameEv");
  if (addFunction == nullptr || name == nullptr || scopes + 3 > sizeof(Callback::flags) ||
      userScope >= scopes) {
    return Observing::NoFunctions;
  }
  nameOf = reinterpret_cast<decltype(nameOf)>(name);
  mainProcess = getpid();
  isForked.store(false);
  static const int watchesForks = pthread_atfork(nullptr, nullptr, [] { isForked.store(true); });
  (void)watchesForks;
  scopeCount = scopes;
  // Without a way to take it back, PyTorch is not asked for inputs that may turn out to be
  // unreadable.
  watches = {{kBackwardScope, startBackward, false, {}},
             {userScope, startUserRange, false, {}},
             {kFunctionScope, startOperator, withInputs && removeFunction != nullptr, {}}};
  for (Watch& watch : watches) add(watch);
  return Observing::Ok;
}

bool stopObserving() {
  if (removeFunction == nullptr || watches.empty()) return false;
  for (Watch& watch : watches) remove(watch);
  watches.clear();
  return true;
}

void observeDetail(bool on) {
  if (removeFunction == nullptr) return;
  for (Watch& watch : watches) {
    if (isDetail(watch)) on ? add(watch) : remove(watch);
  }
}

void openCall(const char* name, const char* origin, const void* owner) {
  openWithExecution(name, {.shapes = origin}, owner);
}

void passOver(bool on) {
  tCompiles = on;
}

void emitExecutions(bool on) {
  executions.store(on);
}

void announceQueueAgain() {
  queueAnnounced.store(false);
}

void expectSequence(std::int64_t expected) {
  watched = expected;
  watcher = threadId();
  trial.store(Trial::Sequence);
}

int settleSequence() {
  trial.store(Trial::None);
  const auto found = std::count(std::begin(candidates), std::end(candidates), true);
  if (rounds < 3 || found != 1) return -1;
  const auto* at = std::find(std::begin(candidates), std::end(candidates), true);
  sequenceAt.store(static_cast<int>(at - std::begin(candidates)) * 8);
  return sequenceAt.load();
}

void expectInputs(const TrialTensors& tensors, bool inList) {
  trialTensors = tensors;
  watcher = threadId();
  trial.store(inList ? Trial::List : Trial::Operands);
}

bool settleInputs() {
  trial.store(Trial::None);
  if (inputs.found()) {
    describesInputs.store(true);
    return true;
  }
  if (removeFunction != nullptr && !watches.empty()) {
    remove(watches.back());
    watches.back().withInputs = false;
    add(watches.back());
  }
  return false;
}

}  // namespace lacuna::collector::torch
