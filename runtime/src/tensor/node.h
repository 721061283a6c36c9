// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <initializer_list>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/common/queue.h"
#include "core/small_vector.h"
#include "instrument/observer.h"
#include "lacuna/runtime/autograd.h"
#include "tensor/tensor_impl.h"

/// The way operators are written. An operator is a function with a static OpInfo:
///
///     const OpInfo kRelu{"relu", reluBackward};
///     Tensor relu(Tensor x) {
///       Op op(kRelu, {&x});                  // opens its range, notes if a gradient is wanted
///       Tensor y = op.donateOrEmptyLike(x);  // the input's memory, when nobody else can see it
///       op.launch(...);                      // enqueues (nothing on meta)
///       if (Node* node = op.record({&x}, {&y})) node->saveOutput(y);
///       return y;
///     }
///
/// `record` must come before an input's handle is dropped. A node keeps what it was asked to save
/// and nothing else, and drops it as soon as its backward ran.
namespace lacuna::rt {

/// Computes the gradients of those inputs that are node.wanted(), and leaves the others alone.
using BackwardFn = void (*)(Node& node, const Tensor* gradOutputs, Tensor* gradInputs);

/// For each input of the node whose backward this thread runs: is its gradient asked for? Empty
/// where all are.
extern thread_local constinit std::span<const bool> tWanted;

struct OpInfo {
  OpInfo(const char* text, BackwardFn fn = nullptr)
      : name{text},
        backward(fn),
        backwardText(std::string(text) + ".backward"),
        backwardName{backwardText.c_str()} {}
  Name name;
  BackwardFn backward;
  std::string backwardText;
  Name backwardName;
};

/// A tensor kept for the backward, with the version it had.
struct SavedTensor {
  Tensor
      tensor;  ///< an input as it is; of an output the memory only, or the graph would own itself
  std::uint32_t version = 0;
  bool output = false;
  std::uint32_t outputIndex = 0;
};
class Replay;

struct Edge {
  Ref<Node> node;  ///< none: no gradient is wanted there
  std::uint32_t index = 0;
};

struct Node : RefCounted, Pooled<Node> {
  const OpInfo* info = nullptr;
  std::uint64_t sequence = 0;
  const Name* module = nullptr;
  SmallVector<Edge, 3> edges;
  SmallVector<SavedTensor, 2> saved;
  SmallVector<Shape, 1> outputShapes;
  SmallVector<Shape, 2> shapes;  ///< of inputs, where the backward needs only these
  DType dtype = DType::F32;      ///< of the first output
  std::uint8_t queue = 0;        ///< index of the queue of the forward, and of the backward
  Device device;
  std::array<std::int64_t, 12> ints{};
  std::array<double, 4> doubles{};
  std::shared_ptr<void> extra;
  /// For a node within a checkpoint(). This makes again what the node saved without a tensor:
  /// `version` is its number there, and for an input `outputIndex` the edge that it came along.
  std::shared_ptr<Replay> replay;
  bool freed = false;
  std::unique_ptr<std::string> forwardSite;  ///< anomaly mode
  std::list<std::pair<std::uint32_t, std::function<Tensor(const Tensor&)>>>
      hooks;                   ///< one that runs may add to it
  TensorImpl* leaf = nullptr;  ///< accumulation node: the leaf, kept alive
  Ref<TensorImpl> leafOwner;
  std::atomic<const void*> claimedBy{nullptr};  ///< the backward that uses `place`
  std::uint32_t place = 0;                      ///< in that backward's table

  /// True when that input requires a gradient. This decides what was saved, and where.
  [[nodiscard]] bool needs(std::size_t input) const {
    return input < edges.size() && edges[input].node;
  }
  /// True when the backward that runs has to compute that gradient: grad() may be asked for those
  /// of other inputs alone.
  [[nodiscard]] bool wanted(std::size_t input) const {
    return needs(input) && (tWanted.empty() || tWanted[input]);
  }
  void save(const Tensor& input);
  void saveOutput(const Tensor& output, std::uint32_t index = 0);
  /// The saved tensor, checked: throws when it was freed or changed in place since.
  [[nodiscard]] Tensor unpack(std::size_t slot);
  /// Drops what was saved: there is no other backward.
  void dropSaved();

 private:
  [[nodiscard]] bool saveForReplay(const Tensor& tensor, bool output, std::uint32_t outputIndex);
  [[nodiscard]] Tensor unpackReplayed(const SavedTensor& kept);
  /// The values of `kept` as output `index` of `maker`.
  static Tensor withHistory(const Tensor& kept, Node* maker, std::uint32_t index);
};

/// True while a backward should record (double backward) or a forward should.
inline bool recording() {
  return GradMode::enabled();
}

class Op {
 public:
  /// `small`: its work takes less time than handing it to the queue's thread.
  Op(const OpInfo& info, std::initializer_list<const Tensor*> inputs, bool small = false)
      : Op(info, std::span<const Tensor* const>(inputs.begin(), inputs.size()), small) {}
  Op(const OpInfo& info, std::span<const Tensor* const> inputs, bool small = false);
  /// One that is recorded, but calls other operators instead of enqueueing anything.
  struct MadeOfOthers {};
  Op(MadeOfOthers, const OpInfo& info, std::span<const Tensor* const> inputs);
  ~Op();
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  [[nodiscard]] bool needsGrad() const { return needsGrad_; }
  [[nodiscard]] const char* name() const { return info_.name.text; }
  [[noreturn]] void fail(const std::string& what) const { rt::fail(name(), what); }

  /// The memory of `x` under a new tensor if this operator holds its only handle, else fresh
  /// memory.
  [[nodiscard]] Tensor donateOrEmptyLike(const Tensor& x) const;
  /// Enqueues `task`; does nothing for meta tensors. Throws for a device that this build cannot
  /// run.
  template <class Task>
  void launch(Device device, const Work& work, Task task) const {
    if (device == kCpu) [[likely]] {
      CpuQueue::current().enqueue(info_.name, work, std::move(task));
    } else if (device.type != DeviceType::Meta) {
      failUnknown(device);
    }
  }
  /// The node of this operator, connected to inputs and outputs; null when no gradient is wanted.
  Node* record(std::initializer_list<const Tensor*> inputs,
               std::initializer_list<Tensor*> outputs) {
    return record(std::span<const Tensor* const>(inputs.begin(), inputs.size()),
                  std::span<Tensor* const>(outputs.begin(), outputs.size()));
  }
  Node* record(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs);

 private:
  void begin(std::span<const Tensor* const> inputs, bool small);
  [[noreturn, gnu::cold]] void failUnknown(Device device) const;

  const OpInfo& info_;
  instrument::OpContext context_;
  bool needsGrad_ = false;
};

/// The range of an operator that is made of others: it enqueues nothing itself.
class CompositeOp {
 public:
  CompositeOp(const OpInfo& info, std::initializer_list<const Tensor*> inputs);
  ~CompositeOp();
  CompositeOp(const CompositeOp&) = delete;
  CompositeOp& operator=(const CompositeOp&) = delete;

 private:
  instrument::OpContext context_;
};

/// The edge that a consumer of `tensor` gets: to its maker, or to the leaf's accumulation node.
Edge edgeOf(const Tensor& tensor);
/// Sums `gradient` over the dimensions that were broadcast from `shape`.
Tensor sumTo(const Tensor& gradient, const Shape& shape);
/// Throws unless all of these, the undefined ones aside, are on one device.
void sameDevice(const char* op, std::span<const Tensor* const> tensors);
inline void sameDevice(const char* op, std::initializer_list<const Tensor*> tensors) {
  sameDevice(op, std::span<const Tensor* const>(tensors.begin(), tensors.size()));
}
/// For an in-place operator: raises the version. Throws on a leaf that needs a gradient (while
/// recording), and where the operator records but other tensors see the target's memory: their
/// histories would not know of the change.
void beginInPlace(const Op& op, const Tensor& target);
/// The same where the new elements may differ: refuses a target that shows one place in memory
/// several times (expand).
void beginInPlaceOnEach(const Op& op, const Tensor& target);
/// Zero for the first input: the gradient of values that were overwritten, and of steps.
void zeroBackward(Node& node, const Tensor* gradOutputs, Tensor* gradInputs);
/// Drops the gradient, or fills it with zeros.
void clearGrad(const Tensor& parameter, bool toNone);

}  // namespace lacuna::rt
