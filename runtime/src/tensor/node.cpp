// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tensor/node.h"

#include <algorithm>
#include <mutex>

#include "backend/backend.h"
#include "core/biased_lock.h"
#include "core/fork_locks.h"
#include "instrument/operator_recorder.h"
#include "instrument/own_knobs.h"
#include "instrument/settings.h"
#include "lacuna/runtime/ops.h"
#include "tensor/layout.h"
#include "tensor/replay.h"
#include "tensor/trace.h"

namespace lacuna::rt {

thread_local constinit std::span<const bool> tWanted;

namespace {

thread_local constinit bool tGradMode = true;
std::atomic<bool> gAnomaly{false};
std::atomic<std::uint64_t> gSequence{0};
const OpInfo kAccumulate{"accumulate"};
BiasedLock gLeafLock;  ///< of every leaf's AutogradMeta::accumulate

/// True when a tensor beside this one has its memory. Outputs that its own node saved do not count:
/// their version is checked.
bool othersSee(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  std::uint32_t own = 1;
  if (impl.autograd && impl.autograd->gradFn) {
    for (const SavedTensor& slot : impl.autograd->gradFn->saved) {
      if (slot.output && slot.tensor.defined() && slot.tensor.impl()->storage == impl.storage)
        ++own;
    }
  }
  return impl.storage->useCount() > own;
}

/// Takes an accumulation node that its last owner let go from its leaf. False when another thread
/// found it there before that, and owns it now.
bool takeFromLeaf(Node& node) {
  const std::lock_guard lock(gLeafLock);
  if (node.useCount() > 1 && !node.release()) return false;
  AutogradMeta& meta = *node.leaf->autograd;
  if (meta.accumulate == &node) meta.accumulate = nullptr;
  return true;
}

Node* newAccumulation(const Tensor& leaf) {
  auto* node = new Node;
  node->info = &kAccumulate;
  node->sequence = ~std::uint64_t{0};
  node->leaf = leaf.impl();
  node->leafOwner = Ref<TensorImpl>::share(leaf.impl());
  node->outputShapes.push_back(leaf.shape());
  node->dtype = leaf.dtype();
  node->device = leaf.device();
  return node;
}

/// Takes `lock`, of gLeafLock, where it has to.
Edge edgeOf(const Tensor& tensor, std::unique_lock<BiasedLock>& lock) {
  if (!tensor.defined() || !tensor.requiresGrad()) return {};
  AutogradMeta& meta = *tensor.impl()->autograd;
  if (meta.gradFn) return {meta.gradFn, meta.outputIndex};
  if (!lock.owns_lock()) lock.lock();
  if (meta.accumulate == nullptr || !meta.accumulate->retainIfOwned())
    meta.accumulate = newAccumulation(tensor);
  return {Ref<Node>::adopt(meta.accumulate), 0};
}

/// True when no other queue may still read the memory.
bool usedHereOnly(const Storage& storage) {
  const QueueMask users = storage.users.load(std::memory_order_relaxed);
  return users == CpuQueue::chosenBit() || users == Storage::kEveryQueue;
}

const ForkLock kLeafForkLock{LockOrder::Leaves, [] { gLeafLock.lockForFork(); },
                             [] { gLeafLock.unlock(); }};

}  // namespace

void destroy(Node* node) {
  if (node->leaf != nullptr && !takeFromLeaf(*node)) return;
  // A long chain must not recurse once per operator: what nodes own alone is let go in a loop.
  SmallVector<Ref<Node>, 8> chain;
  const auto letGo = [&chain](Ref<Node>& held) {
    if (held && held->useCount() == 1) {
      chain.push_back(std::move(held));
    } else {
      held.reset();  // where a node has several handles (both factors of x · x), the last one is
                     // its only owner
    }
  };
  const auto strip = [&letGo](Node& from) {
    for (Edge& edge : from.edges) letGo(edge.node);
    for (SavedTensor& slot : from.saved) {
      const Tensor held = std::move(slot.tensor);
      const TensorImpl* impl = held.impl();
      if (impl != nullptr && impl->useCount() == 1 && impl->autograd) letGo(impl->autograd->gradFn);
    }
  };
  strip(*node);
  delete node;
  while (!chain.empty()) {
    const Ref<Node> next = std::move(chain.back());
    chain.pop_back();
    if (next->useCount() == 1) strip(*next);
  }
}

bool GradMode::enabled() {
  return tGradMode;
}
void GradMode::set(bool on) {
  tGradMode = on;
}

AnomalyMode::AnomalyMode(bool on) : before_(gAnomaly.load()) {
  if (on) on = instrument::switchAsSet("debug", "rt::AnomalyMode", on);
  gAnomaly = on;
  if (on) instrument::reportSwitch(instrument::OwnKnob::Debug, true);
}
AnomalyMode::~AnomalyMode() {
  gAnomaly = before_;
}
bool AnomalyMode::enabled() {
  return gAnomaly.load(std::memory_order_relaxed);
}

void Node::save(const Tensor& input) {
  if (tReplay != nullptr && saveForReplay(input, false, 0)) [[unlikely]]
    return;
  saved.push_back({input, input.version(), false, 0});
}

void Node::saveOutput(const Tensor& output, std::uint32_t index) {
  if (tReplay != nullptr && saveForReplay(output, true, index)) [[unlikely]]
    return;
  const TensorImpl& impl = *output.impl();
  saved.push_back({makeView(impl.storage, impl.shape, impl.strides, impl.offset, impl.dtype),
                   output.version(), true, index});
}

Tensor Node::unpack(std::size_t slot) {
  const char* op = info->name.text;
  if (freed)
    fail(op,
         "its saved tensors are gone: backward ran through this graph already; pass retainGraph = "
         "true the first time");
  const SavedTensor& kept = saved[slot];
  if (!kept.tensor.defined()) [[unlikely]]
    return unpackReplayed(kept);
  if (kept.tensor.version() != kept.version) {
    fail(op,
         std::string("a tensor that its gradient needs (") +
             (kept.output ? "its output" : "its input") + ", " + kept.tensor.shape().toString() +
             ") was changed in place since the forward: version " +
             std::to_string(kept.tensor.version()) + ", saved at " + std::to_string(kept.version));
  }
  return kept.output && recording() ? withHistory(kept.tensor, this, kept.outputIndex)
                                    : kept.tensor;
}

Tensor Node::withHistory(const Tensor& kept, Node* maker, std::uint32_t index) {
  const TensorImpl& impl = *kept.impl();
  Tensor again = makeView(impl.storage, impl.shape, impl.strides, impl.offset, impl.dtype);
  AutogradMeta& meta = again.impl()->meta();
  meta.requiresGrad = true;
  meta.gradFn = Ref<Node>::share(maker);
  meta.outputIndex = index;
  return again;
}

bool Node::saveForReplay(const Tensor& tensor, bool output, std::uint32_t outputIndex) {
  constexpr std::uint32_t kNoEdge = ~std::uint32_t{0};
  if (!tensor.defined() || (!output && tReplay->staysAnyway(tensor))) return false;
  if (!output) {
    const AutogradMeta* meta = tensor.impl()->autograd.get();
    const auto isOrigin = [&](const Edge& edge) {
      if (!edge.node || meta == nullptr) return false;
      return meta->gradFn ? edge.node.get() == meta->gradFn.get() && edge.index == meta->outputIndex
                          : edge.node->leaf == tensor.impl();
    };
    const Edge* origin = std::find_if(edges.begin(), edges.end(), isOrigin);
    outputIndex =
        origin == edges.end() ? kNoEdge : static_cast<std::uint32_t>(origin - edges.begin());
  }
  replay = tReplay->shared_from_this();
  saved.push_back({Tensor(), replay->take(tensor), output, outputIndex});
  return true;
}

Tensor Node::unpackReplayed(const SavedTensor& kept) {
  const Tensor tensor = replay->get(kept.version);
  if (!recording()) return tensor;
  if (kept.output) return withHistory(tensor, this, kept.outputIndex);
  if (kept.outputIndex >= edges.size()) return tensor;
  const Edge& origin = edges[kept.outputIndex];
  if (origin.node->leaf != nullptr) return Tensor(Ref<TensorImpl>::share(origin.node->leaf));
  return withHistory(tensor, origin.node.get(), origin.index);
}

void Node::dropSaved() {
  for (const SavedTensor& kept : saved) {
    if (replay && !kept.tensor.defined()) [[unlikely]]
      replay->drop(kept.version);
  }
  saved.clear();
  extra.reset();
  replay.reset();
  freed = true;
}

Op::Op(const OpInfo& info, std::span<const Tensor* const> inputs, bool small) : info_(info) {
  begin(inputs, small);
}

Op::Op(MadeOfOthers, const OpInfo& info, std::span<const Tensor* const> inputs) : info_(info) {
  context_.composite = true;
  begin(inputs, false);
}

inline void Op::begin(std::span<const Tensor* const> inputs, bool small) {
  context_.name = &info_.name;
  context_.outer = instrument::tOp;
  instrument::tOp = &context_;
  if (tGradMode) {
    for (const Tensor* input : inputs)
      needsGrad_ = needsGrad_ || (input->defined() && input->requiresGrad());
    if (needsGrad_) context_.sequence = gSequence.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  if (instrument::sinks() != 0) [[unlikely]]
    instrument::opBegin(context_, inputs, small);
}

Op::~Op() {
  if (context_.announced) [[unlikely]]
    instrument::opEnd(context_);
  instrument::tOp = context_.outer;
}

void Op::failUnknown(Device device) const {
  fail("this build runs nothing on " + toString(device));
}

CompositeOp::CompositeOp(const OpInfo& info, std::initializer_list<const Tensor*> inputs) {
  context_.name = &info.name;
  context_.composite = true;
  context_.outer = instrument::tOp;
  instrument::tOp = &context_;
  if (instrument::sinks() != 0) [[unlikely]]
    instrument::opBegin(context_, {inputs.begin(), inputs.size()});
}

CompositeOp::~CompositeOp() {
  if (context_.announced) [[unlikely]]
    instrument::opEnd(context_);
  instrument::tOp = context_.outer;
}

Tensor Op::donateOrEmptyLike(const Tensor& x) const {
  const TensorImpl* impl = x.impl();
  const bool mine = impl->useCount() == 1 && impl->storage->useCount() == 1 && isDense(x) &&
                    !impl->storage->host &&
                    (!impl->autograd || (impl->autograd->gradFn && impl->autograd->hooks.empty()));
  if (mine && impl->storage->bytes == x.sizeBytes() && usedHereOnly(*impl->storage)) {
    impl->storage->written = 0;
    if (instrument::recordingOperators()) [[unlikely]]
      instrument::recordTakeOver(x);
    return makeView(impl->storage, impl->shape, impl->strides, impl->offset, impl->dtype);
  }
  return emptyLike(x);
}

Node* Op::record(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs) {
  if (!needsGrad_) return nullptr;
  auto* node = new Node;
  auto owner = Ref<Node>::adopt(node);
  node->info = &info_;
  node->sequence = context_.sequence;
  node->module = instrument::tState.module;
  node->queue = static_cast<std::uint8_t>(CpuQueue::chosenIndex());
  node->dtype = outputs[0]->dtype();
  node->device = outputs[0]->device();
  node->edges.reserve(inputs.size());
  std::unique_lock lock(gLeafLock, std::defer_lock);
  for (const Tensor* input : inputs) node->edges.emplace_back(edgeOf(*input, lock));
  if (lock.owns_lock()) lock.unlock();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    AutogradMeta& meta = outputs[i]->impl()->meta();
    meta.requiresGrad = true;
    node->outputShapes.emplace_back(outputs[i]->shape());
    meta.outputIndex = static_cast<std::uint32_t>(i);
    if (i + 1 < outputs.size()) meta.gradFn = owner;
  }
  outputs.back()->impl()->autograd->gradFn = std::move(owner);
  if (AnomalyMode::enabled()) {
    std::string site = info_.name.text;
    if (node->module != nullptr) site += " in module " + std::string(node->module->text);
    site += ", inputs";
    for (const Tensor* input : inputs)
      site += input->defined() ? " " + input->shape().toString() : " -";
    node->forwardSite = std::make_unique<std::string>(std::move(site));
  }
  return node;
}

Edge edgeOf(const Tensor& tensor) {
  std::unique_lock lock(gLeafLock, std::defer_lock);
  return edgeOf(tensor, lock);
}

Tensor sumTo(const Tensor& gradient, const Shape& shape) {
  if (gradient.shape() == shape) return gradient;
  std::vector<int> dims;
  const int extra = gradient.rank() - shape.rank();
  for (int d = 0; d < gradient.rank(); ++d) {
    if (d < extra || (shape[d - extra] == 1 && gradient.shape()[d] != 1)) dims.push_back(d);
  }
  const Tensor summed = dims.empty() ? gradient : sum(gradient, dims, true);
  return summed.view(shape);
}

void sameDevice(const char* op, std::span<const Tensor* const> tensors) {
  const Tensor* first = nullptr;
  for (const Tensor* tensor : tensors) {
    if (!tensor->defined()) continue;
    if (first == nullptr) first = tensor;
    if (tensor->device() != first->device())
      fail(op, "one tensor is on " + toString(first->device()) + ", the other on " +
                   toString(tensor->device()));
  }
}

void beginInPlace(const Op& op, const Tensor& target) {
  (void)checked(target);
  if (recording() && target.requiresGrad() && target.isLeaf()) {
    op.fail(
        "a leaf that requires a gradient cannot be changed in place while gradients are recorded; "
        "use NoGrad");
  }
  if (op.needsGrad() && othersSee(target)) {
    op.fail(
        "in place where other tensors see the same memory (a view and what it views), whose "
        "gradients would not know of it; use where(), add(), mul() or clone(), or NoGrad");
  }
  bumpVersion(target);
}

void beginInPlaceOnEach(const Op& op, const Tensor& target) {
  if (!checked(target)->contiguous && repeatsMemory(*target.impl()))
    op.fail("in place on " + target.shape().toString() + " whose elements share memory");
  beginInPlace(op, target);
}

void zeroBackward(Node& node, const Tensor* /*gradOutputs*/, Tensor* gradInputs) {
  if (node.wanted(0)) gradInputs[0] = zeros(node.outputShapes[0], {node.dtype, node.device});
}

void clearGrad(const Tensor& parameter, bool toNone) {
  instrument::reportKnob(instrument::OwnKnob::ZeroGrad, toNone ? "none" : "zero");
  Tensor gradient = parameter.grad();
  if (!gradient.defined()) return;
  if (toNone) return parameter.setGrad({});
  const NoGrad guard;
  if (gradient.requiresGrad()) {  // made with createGraph: zeros have no history
    gradient = gradient.detach();
    parameter.setGrad(gradient);
  }
  gradient.zero_();
}

bool Tensor::requiresGrad() const {
  return impl_ && impl_->autograd && impl_->autograd->requiresGrad;
}
bool Tensor::isLeaf() const {
  const TensorImpl& impl = *checked(*this);
  return !impl.autograd || !impl.autograd->gradFn;
}

Tensor& Tensor::setRequiresGrad(bool on) {
  if (on && !isFloating(dtype()))
    fail("setRequiresGrad",
         std::string("only floating tensors have gradients, not ") + rt::name(dtype()));
  if (!isLeaf())
    fail("setRequiresGrad", "the tensor was computed by " +
                                std::string(impl_->autograd->gradFn->info->name.text) +
                                "; use detach()");
  if (impl_->storage->role == Role::Parameter && requiresGrad() != on) graph::noteSetting();
  impl_->meta().requiresGrad = on;
  return *this;
}

Tensor Tensor::grad() const {
  const TensorImpl& impl = *checked(*this);
  return impl.autograd ? impl.autograd->grad : Tensor();
}

void Tensor::setGrad(Tensor grad) const {
  if (grad.defined() && grad.shape() != shape()) {
    fail("setGrad", "gradient " + grad.shape().toString() + " for a tensor " + shape().toString());
  }
  if (grad.defined() && grad.dtype() != dtype()) {
    fail("setGrad", std::string("gradient of ") + rt::name(grad.dtype()) + " for a tensor of " +
                        rt::name(dtype()));
  }
  if (grad.defined()) sameDevice("setGrad", {this, &grad});
  graph::noteLeaf(*this);
  checked(*this)->meta().grad = std::move(grad);
}

Tensor Tensor::detach() const {
  const TensorImpl& impl = *checked(*this);
  return makeView(impl.storage, impl.shape, impl.strides, impl.offset, impl.dtype);
}

void Tensor::registerHook(std::function<Tensor(const Tensor&)> hook) const {
  (void)checked(*this);
  if (!requiresGrad()) fail("registerHook", "the tensor does not require a gradient");
  AutogradMeta& meta = *impl_->autograd;
  if (meta.gradFn) {
    meta.gradFn->hooks.emplace_back(meta.outputIndex, std::move(hook));
  } else {
    graph::noteSetting();
    meta.hooks.push_back(std::move(hook));
  }
}

}  // namespace lacuna::rt
