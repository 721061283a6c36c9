// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/common/queue.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/random.h"
#include "tensor/tensor_impl.h"

/// What one run of a function launched, to launch it again: docs/static-graph.md.
///
/// While a thread traces, its queue is the first one under an index of the trace. Memory that is
/// allocated under this index is used again under it alone, so the addresses that launches hold
/// stay theirs. Memory of others lacks the index's bit: its uses come by orderRead() and
/// orderWrite(), which note it. Therefore tracing costs a program that does not trace nothing.
namespace lacuna::rt::graph {

/// The place of a draw in the sequence of random numbers: fixed, or counted from where a replay
/// begins.
struct DrawPlace {
  RandomState state;
  const RandomState* begin = nullptr;
  operator RandomState() const {
    return begin == nullptr ? state : RandomState{begin->seed, begin->draws + state.draws};
  }
};
/// Counts as drawn; returns the first of them.
RandomState takeDraws(std::uint64_t count);

/// What two traces of one function have in common, if the function does the same each time.
struct Likeness {
  struct Launched {
    const Name* name;
    void (*run)(void* task);
    std::uint64_t bytes, flops;
    friend bool operator==(const Launched&, const Launched&) = default;
  };
  /// Memory of others, without a hold on it: a hold would change how gradients are added up.
  struct Used {
    const Storage* storage;
    std::uint64_t serial;  ///< of its allocation
    std::size_t bytes;
    bool comesAndGoes;  ///< a loader's memory
  };
  std::vector<Launched> launches;
  std::vector<Used> outside;  ///< in the order of first use
  std::size_t hostActions = 0;
  /// How the other one differs; empty where it does not.
  [[nodiscard]] std::string differenceFrom(const Likeness& before) const;
};

/// Tells a tensor's memory from another's at the same address.
std::uint64_t serialOf(const Storage& storage);

using Body = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

class Trace final : public LaunchRecorder {
 public:
  Trace();
  /// Waits until its launches have run.
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Runs `body` and keeps what it launches. Returns copies of its results, without history.
  /// Throws what `body` throws. Called once.
  std::vector<Tensor> record(const std::vector<Tensor>& inputs, const Body& body);
  /// Why the trace is of no use; empty: it can be replayed.
  [[nodiscard]] const std::string& fault() const { return fault_; }
  /// Inputs whose address lies where a replay cannot change it.
  [[nodiscard]] const std::vector<bool>& unmovable() const { return unmovable_; }
  [[nodiscard]] Likeness likeness() const;
  [[nodiscard]] std::size_t launches() const { return launches_.size(); }

  /// Why a replay would not do what a run does now; empty where it does the same.
  [[nodiscard]] std::string mismatch() const;
  std::vector<Tensor> replay(const std::vector<Tensor>& inputs);

  void* memoryFor(std::size_t bytes, std::size_t alignment) override;
  const KeptLaunch& keep(const KeptLaunch& launch, std::size_t bytes, bool flat,
                         void (*end)(void*)) override;
  void leave(const std::string& why) override;
  void noteRead(Storage& storage);
  void noteWrite(Storage& storage);
  void noteLeaf(const Tensor& leaf);
  /// True when the trace alone holds the tensor's memory beside it.
  [[nodiscard]] bool holdsWith(const Tensor& tensor) const;
  void notePhase(std::optional<Phase> begun);
  [[nodiscard]] DrawPlace placeOf(RandomState draw);
  void runOnHost(const std::vector<Tensor>& leaves, std::function<void()> action);
  void expect(const char* otherwise, std::function<bool()> holds);
  [[nodiscard]] Tensor aliasOf(const Tensor& tensor);

 private:
  enum class Kind : std::uint8_t { Launches, Host, PhaseBegin, PhaseEnd };
  struct Step {
    Kind kind;
    std::size_t from, to;  ///< launches, the host's action, or the phase
  };
  struct Ending {
    void (*end)(void*);
    void* task;
  };
  struct Input {
    Storage* storage;
    std::uintptr_t begin, end;  ///< of the tensor's elements
    bool written = false;
  };
  /// A word of a task that holds an address in an input.
  struct Relocation {
    std::uintptr_t* word;
    std::size_t input;
    std::ptrdiff_t offset;
  };
  struct Outside {
    Storage* storage;
    Ref<Storage> hold;    ///< none where a leaf's gradient is compared before each replay
    Likeness::Used seen;  ///< at the first use: a gradient may be gone at the end of the run
    bool written = false;
  };
  struct Host {
    std::function<void()> action;
    std::vector<std::pair<Ref<TensorImpl>, Tensor>> gradients;  ///< as the action finds them
  };
  struct Leaf {
    Ref<TensorImpl> impl;
    bool hadGradient = false;
    const Storage* first = nullptr;  ///< the gradient's memory before the run, for comparison,
    std::uint64_t serial = 0;        ///< and its allocation
    bool isUsed = false;             ///< the run uses that gradient
    bool stays = false;              ///< the run leaves that gradient to the parameter
    Tensor last = {};                ///< else: the gradient after the run
    [[nodiscard]] bool isFirst(const Storage& storage) const;
  };
  struct Expectation {
    const char* otherwise;
    std::function<bool()> holds;
  };
  class Recording;

  void addInput(const Tensor& tensor);
  Input* inputOf(const Storage& storage);
  Outside& outside(Storage& storage);
  void relocate(void* task, std::size_t bytes, bool flat);
  void finish(std::vector<Tensor>& results);
  void settleLeaves();
  void findSurvivors();
  /// From now on the memory is the first queue's, as that of other tensors.
  void settle(Storage& storage);
  [[nodiscard]] bool isOwn(const Storage& storage) const;
  void enter(const std::vector<Tensor>& inputs);
  void launchAgain(CpuQueue& queue);
  void patch(const std::vector<std::uintptr_t>& begins, RandomState random);
  void runHost(const Host& host);
  [[nodiscard]] std::vector<Tensor> gradients() const;
  void leaveGradients(const std::vector<Tensor>& found);
  [[nodiscard]] std::vector<Tensor> copiesOfResults() const;

  int index_ = -1;
  std::string fault_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::size_t used_ = 0, size_ = 0;  ///< of the last chunk
  std::vector<Ending> endings_;
  std::deque<KeptLaunch> launches_;
  std::vector<Step> steps_;
  std::deque<Host> hosts_;
  std::vector<Input> inputs_;
  std::vector<bool> pending_;  ///< inputs in use by the operator whose launch is to come
  std::vector<bool> unmovable_;
  std::vector<Relocation> relocations_;
  std::vector<Outside> outsides_;
  std::unordered_map<const Storage*, std::size_t> numbers_;  ///< of outsides_
  std::vector<Leaf> leaves_;
  std::vector<Expectation> expectations_;
  std::vector<Tensor> results_;
  std::vector<Ref<Storage>> survivors_;
  RandomState random_;  ///< where the run, or the replay that executes, begins
  std::uint64_t drawn_ = 0;
  std::uint64_t last_ = 0;  ///< the number of its last execution
};

/// The trace that this thread makes; none on most threads.
extern thread_local constinit Trace* tTrace;
inline bool tracing() {
  return tTrace != nullptr;
}
/// The trace that is being made, if there is one, cannot be replayed.
void leave(const char* why);
/// The gradient of a leaf is about to become another tensor.
void noteLeaf(const Tensor& leaf);
/// True when nobody but the trace that is being made holds the tensor beside its one owner.
[[nodiscard]] bool ownedAlone(const Tensor& tensor);
/// Runs the action now, outside of the trace, and at this place of each replay. It finds `leaves`
/// with the gradients that they have now.
void onHost(const std::vector<Tensor>& leaves, std::function<void()> action);
/// A replay does the same only while that holds.
void expect(const char* otherwise, std::function<bool()> holds);
/// In a trace: the tensor without a hold on its memory, for an action on the host. Else the tensor.
[[nodiscard]] Tensor alias(const Tensor& tensor);
/// A setting that decides what functions do has changed: a module's mode, a parameter's need of a
/// gradient, hooks.
void noteSetting();
[[nodiscard]] std::uint64_t settings();

}  // namespace lacuna::rt::graph
