// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "autograd/scaled_loss.h"
#include "backend/backend.h"
#include "instrument/step_times.h"
#include "lacuna/runtime/autocast.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/ops.h"
#include "ops/cast.h"
#include "ops/shared.h"
#include "tensor/layout.h"
#include "tensor/node.h"
#include "tensor/trace.h"

namespace lacuna::rt {

namespace {

/// A node on the way of this backward, with the gradients of its outputs (or of the leaf) gathered
/// so far.
struct Place {
  Node* node = nullptr;
  int uses = 0;        ///< contributions to come
  bool due = false;    ///< its backward waits in the heap
  bool asked = false;  ///< grad() wants a gradient of one of its outputs
  bool leads = false;  ///< to one that it wants
  Tensor first;
  std::vector<Tensor> others;  ///< of a node with several outputs

  Tensor& gradient(std::uint32_t index) {
    if (index == 0) return first;
    if (others.empty()) others.resize(node->outputShapes.size() - 1);
    return others[index - 1];
  }
};

/// Gradients of tensors that grad() asks for: where they arrive, and in which result.
struct Capture {
  const Node* node;
  std::uint32_t index;
  std::size_t result;
};

class Engine {
 public:
  /// `captured` is none where the gradients go to the leaves.
  Engine(BackwardOptions options, const std::vector<Tensor>* captured)
      : options_(options), capturing_(captured != nullptr) {
    if (!capturing_) return;
    results_.resize(captured->size());
    for (std::size_t i = 0; i < captured->size(); ++i) {
      const Edge edge = edgeOf((*captured)[i]);
      if (!edge.node) fail("grad", "input " + std::to_string(i) + " does not require a gradient");
      captures_.push_back({edge.node.get(), edge.index, i});
      kept_.push_back(edge.node);
    }
  }

  void seed(const Tensor& root, const Tensor& gradient) {
    const Edge edge = edgeOf(root);
    if (!edge.node)
      fail("backward", "the tensor does not require a gradient: nothing it was computed from does");
    if (!gradient.defined() && root.numel() != 1) {
      fail("backward", "a gradient is needed for a tensor of " + root.shape().toString() +
                           "; only one element has a default");
    }
    if (gradient.defined() && gradient.shape() != root.shape()) {
      fail("backward",
           "gradient " + gradient.shape().toString() + " for a tensor " + root.shape().toString());
    }
    sameDevice("backward", {&root, &gradient});
    kept_.push_back(edge.node);
    const Options like{root.dtype(), root.device()};
    seeds_.emplace_back(edge,
                        gradient.defined() ? gradient.to(root.dtype()) : ones(root.shape(), like));
  }

  // An edge leads from a node to an older one. So the highest sequence number comes first: then
  // every node has all its gradients at its turn.
  std::vector<Tensor> run() {
    visitGraph();
    if (capturing_) markWays();
    for (auto& [edge, gradient] : seeds_) {
      if (isWanted(edge)) give(edge, std::move(gradient));
    }
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const std::uint32_t at = heap_.back().second;
      heap_.pop_back();
      visit(at);
    }
    return std::move(results_);
  }

  ~Engine() {
    for (const Place& place : places_) {
      if (place.node->claimedBy.load(std::memory_order_relaxed) == this) {
        place.node->claimedBy.store(nullptr, std::memory_order_release);
      }
    }
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

 private:
  // A leaf's gradient is added as soon as its last contribution is there, and hooks see the sum.
  void visitGraph() {
    std::vector<Node*> stack;
    const auto reach = [&](Node& node) {
      const auto [place, fresh] = enter(node);
      ++places_[place].uses;
      if (fresh && node.leaf == nullptr) stack.push_back(&node);
    };
    for (const auto& [edge, gradient] : seeds_) reach(*edge.node);
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      for (const Edge& edge : node->edges) {
        if (edge.node) reach(*edge.node);
      }
    }
  }

  // From the oldest node on, so that what lies behind a node is marked before it.
  void markWays() {
    std::unordered_set<const Node*> asked;
    for (const Capture& wanted : captures_) asked.insert(wanted.node);
    std::vector<Place*> order;
    for (Place& place : places_) {
      place.asked = asked.contains(place.node);
      order.push_back(&place);
    }
    std::sort(order.begin(), order.end(),
              [](const Place* a, const Place* b) { return a->node->sequence < b->node->sequence; });
    for (Place* place : order) {
      for (const Edge& edge : place->node->edges) place->leads = place->leads || isWanted(edge);
    }
  }

  /// True when the gradient that goes along this edge is one that the caller wants, or leads to
  /// one.
  bool isWanted(const Edge& edge) const {
    if (!edge.node || !capturing_) return static_cast<bool>(edge.node);
    const Place& place = places_[placeOf(*edge.node)];
    if (place.leads || !place.asked || place.node->outputShapes.size() == 1)
      return place.leads || place.asked;
    const auto isThis = [&](const Capture& wanted) {
      return wanted.node == place.node && wanted.index == edge.index;
    };
    return std::any_of(captures_.begin(), captures_.end(), isThis);
  }

  /// The node's place, and whether it is a new one. Nodes that another backward has its hands on
  /// (of another thread, or the one that this runs inside) are looked up by address, also when that
  /// one has ended meanwhile.
  std::pair<std::uint32_t, bool> enter(Node& node) {
    if (node.claimedBy.load(std::memory_order_relaxed) == this) return {node.place, false};
    if (!foreign_.empty()) {
      if (const auto known = foreign_.find(&node); known != foreign_.end())
        return {known->second, false};
    }
    const auto next = static_cast<std::uint32_t>(places_.size());
    const void* nobody = nullptr;
    if (node.claimedBy.compare_exchange_strong(nobody, this, std::memory_order_acquire)) {
      node.place = next;
    } else {
      foreign_.emplace(&node, next);
    }
    places_.emplace_back().node = &node;
    return {next, true};
  }

  std::uint32_t placeOf(const Node& node) const {
    return node.claimedBy.load(std::memory_order_relaxed) == this ? node.place : foreign_.at(&node);
  }

  void give(const Edge& edge, Tensor gradient) {
    const std::uint32_t at = placeOf(*edge.node);
    Place& place = places_[at];
    const bool last = --place.uses == 0;
    accumulate(place.gradient(edge.index), std::move(gradient), last);
    if (place.node->leaf != nullptr) {
      if (!last || !place.first.defined()) return;
      finishSum(place.first, place.node->dtype);
      finishLeaf(*place.node, std::move(place.first));
    } else if (!place.due) {
      place.due = true;
      heap_.emplace_back(place.node->sequence, at);
      std::push_heap(heap_.begin(), heap_.end());
    }
  }

  /// Adds up more than two gradients of a 16-bit type in f32, until finishSum(): a sum of two is
  /// rounded once as it is.
  static void accumulate(Tensor& sum, Tensor gradient, bool last) {
    if (!gradient.defined()) return;
    if (!sum.defined()) {
      sum = std::move(gradient);
      return;
    }
    if (!last && isHalf(sum.impl()->dtype)) sum = converted(sum, wideType(sum.impl()->dtype));
    if (recording() || !isOwnedAlone(sum) || !isDense(sum)) {
      sum = add(sum, gradient);
    } else if (isHalf(gradient.impl()->dtype) && sum.impl()->dtype == DType::F32) {
      addWidened(sum, gradient);
    } else {
      sum.add_(gradient);
    }
  }

  static void addWidened(const Tensor& sum, const Tensor& gradient) {
    static const OpInfo kInfo{"add_widened"};
    const Op op(kInfo, {&sum, &gradient});
    orderForWrite(*sum.impl()->storage);
    op.launch(sum.device(), {sum.sizeBytes() * 2 + gradient.sizeBytes()},
              [to = viewOf(sum), from = viewOf(gradient)] { kernel::addWidened(to, from); });
  }

  static void finishSum(Tensor& sum, DType type) {
    if (isHalf(type) && sum.defined() && sum.dtype() != type) sum = converted(sum, type);
  }

  static bool isHalf(DType type) { return wideType(type) != type; }

  /// Unless it is recorded, in the same order in memory.
  static Tensor converted(const Tensor& x, DType type) {
    if (recording() || !isDense(x)) return x.to(type);
    Tensor out = emptyStrided(x.shape(), x.strides(), {type, x.device()});
    return out.copy_(x);
  }

  /// True when nobody else sees a change of it.
  static bool isOwnedAlone(const Tensor& tensor) {
    return tensor.impl()->useCount() == 1 && tensor.impl()->storage->useCount() == 1;
  }

  void finishLeaf(Node& node, Tensor gradient) {
    AutogradMeta& meta = *node.leaf->autograd;
    eachHook(meta.hooks, [&](const auto& hook) { gradient = afterHook(node, 0, hook, gradient); });
    if (capturing_) return capture(node, 0, gradient);
    Tensor leaf(Ref<TensorImpl>::share(node.leaf));
    graph::noteLeaf(leaf);
    if (!meta.grad.defined()) {
      // A gradient that also belongs to somebody else (the caller, another leaf) must not be
      // changed in place by the next backward or by clipping. A gradient whose elements share
      // memory cannot be changed in place at all.
      if (!isOwnedAlone(gradient) || !gradient.isContiguous()) gradient = gradient.clone();
      meta.grad = std::move(gradient);
      meta.grad.setRole(Role::Gradient);
    } else if (!recording() && isDense(meta.grad) &&
               (isOwnedAlone(meta.grad) || graph::ownedAlone(meta.grad))) {
      meta.grad.add_(gradient);
    } else {
      meta.grad = add(meta.grad, gradient);
    }
    if (meta.afterAccumulate) meta.afterAccumulate(leaf);
  }

  /// Calls run(hook) for those that are there now: what a hook registers waits for the next
  /// gradient.
  template <class Hooks, class Run>
  static void eachHook(const Hooks& hooks, const Run& run) {
    auto hook = hooks.begin();
    for (std::size_t left = hooks.size(); left > 0; --left, ++hook) run(*hook);
  }

  /// The gradient, or what the hook puts in its place: kernels read it by the type, shape and
  /// device of the node, so it must have them.
  static Tensor afterHook(const Node& node, std::uint32_t index,
                          const std::function<Tensor(const Tensor&)>& hook,
                          const Tensor& gradient) {
    Tensor replaced = hook(gradient);
    if (!replaced.defined()) return gradient;
    const Shape& shape = node.outputShapes[index];
    if (replaced.shape() == shape && replaced.dtype() == node.dtype &&
        replaced.device() == node.device)
      return replaced;
    const auto text = [](const Shape& shape, DType dtype, Device device) {
      return name(dtype) + shape.toString() + " on " + toString(device);
    };
    fail(node.info->name.text,
         "a hook returned " + text(replaced.shape(), replaced.dtype(), replaced.device()) +
             " for a gradient that is " + text(shape, node.dtype, node.device));
  }

  void capture(const Node& node, std::uint32_t index, const Tensor& gradient) {
    for (const Capture& wanted : captures_) {
      if (wanted.node == &node && wanted.index == index) results_[wanted.result] = gradient;
    }
  }

  using Gradients = SmallVector<Tensor, 2>;

  void visit(std::uint32_t at) {
    Place& place = places_[at];
    Node& node = *place.node;
    const ChosenQueue queue(node.queue);
    Gradients gradients;
    gradients.push_back(std::move(place.first));
    for (Tensor& other : place.others) gradients.push_back(std::move(other));
    for (Tensor& gradient : gradients) finishSum(gradient, node.dtype);
    gradients.resize(node.outputShapes.size());
    show(place, gradients);
    if (capturing_ && !place.leads) return;
    if (node.freed) {
      fail(node.info->name.text,
           "backward ran through this graph already; pass retainGraph = true the first time");
    }
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined())
        gradients[i] = zeros(node.outputShapes[i], {node.dtype, node.device});
    }
    SmallVector<bool, 4> wanted;  // none: all
    if (capturing_) {
      for (const Edge& edge : node.edges) wanted.push_back(isWanted(edge));
    }
    SmallVector<Tensor, 3> inputs;
    inputs.resize(node.edges.size());
    runNode(node, gradients, {wanted.data(), wanted.size()}, inputs.data());
    gradients.clear();
    if (!options_.retainGraph && !options_.createGraph) node.dropSaved();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (isWanted(node.edges[i])) give(node.edges[i], std::move(inputs[i]));
    }
  }

  /// To the hooks, which may replace them, and to who asked for one of them.
  void show(const Place& place, Gradients& gradients) {
    const Node& node = *place.node;
    eachHook(node.hooks, [&](const auto& held) {
      const auto& [index, hook] = held;
      if (gradients[index].defined())
        gradients[index] = afterHook(node, index, hook, gradients[index]);
    });
    for (std::uint32_t i = 0; place.asked && i < gradients.size(); ++i) {
      if (gradients[i].defined()) capture(node, i, gradients[i]);
    }
  }

  static void runNode(Node& node, const Gradients& gradients, std::span<const bool> wanted,
                      Tensor* inputs) {
    instrument::OpContext context;
    context.name = &node.info->backwardName;
    context.outer = instrument::tOp;
    context.sequence = node.sequence;
    context.composite = true;
    context.module = node.module;
    context.direction = instrument::Direction::Backward;
    instrument::tOp = &context;
    struct Restore {
      instrument::OpContext& context;
      std::span<const bool> wanted;
      ~Restore() {
        if (context.announced) instrument::opEnd(context);
        instrument::tOp = context.outer;
        tWanted = wanted;
      }
    } restore{context, std::exchange(tWanted, wanted)};
    if (instrument::sinks() != 0) [[unlikely]] {
      SmallVector<const Tensor*, 2> shown;
      for (const Tensor& gradient : gradients) shown.push_back(&gradient);
      instrument::opBegin(context, {shown.data(), shown.size()});
    }
    node.info->backward(node, gradients.data(), inputs);
    if (AnomalyMode::enabled()) [[unlikely]]
      checkFinite(node, inputs);
  }

  static void checkFinite(const Node& node, const Tensor* inputs) {
    const NoGrad guard;
    for (std::size_t i = 0; i < node.edges.size(); ++i) {
      if (!inputs[i].defined() || inputs[i].isMeta()) continue;
      if (sum(logicalNot(isFinite(inputs[i])).to(DType::I64)).item() == 0) continue;
      fail(node.info->backwardName.text,
           "gradient of input " + std::to_string(i) + " is not finite; forward was: " +
               (node.forwardSite ? *node.forwardSite : "not recorded (anomaly mode was off)"));
    }
  }

  BackwardOptions options_;
  bool capturing_;
  std::vector<Tensor> results_;
  std::vector<Capture> captures_;
  std::vector<Ref<Node>> kept_;
  std::vector<std::pair<Edge, Tensor>> seeds_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> heap_;  ///< sequence numbers and places
  std::vector<Place> places_;
  std::unordered_map<const Node*, std::uint32_t> foreign_;
};

/// Direction and grad mode of the thread while a backward runs. Gradients have the types of their
/// forward.
class BackwardGuard {
 public:
  explicit BackwardGuard(bool record)
      : direction_(instrument::tState.direction),
        mode_(GradMode::enabled()),
        scaled_(std::exchange(tLossScaled, false)),
        autocast_(false) {
    instrument::tState.direction = instrument::Direction::Backward;
    GradMode::set(record);
    forgetShortCopies();
  }
  ~BackwardGuard() {
    instrument::tState.direction = direction_;
    GradMode::set(mode_);
    tLossScaled = scaled_;
  }

 private:
  instrument::Direction direction_;
  bool mode_, scaled_;
  Autocast autocast_;
};

std::vector<Tensor> runEngine(const std::vector<Tensor>& roots,
                              const std::vector<Tensor>& gradients,
                              const std::vector<Tensor>* captured, BackwardOptions options) {
  if (!gradients.empty() && gradients.size() != roots.size()) {
    fail("backward", std::to_string(gradients.size()) + " gradients for " +
                         std::to_string(roots.size()) + " tensors");
  }
  const PhaseScope phase(Phase::Backward);
  const BackwardGuard guard(options.createGraph);
  Engine engine(options, captured);
  for (std::size_t i = 0; i < roots.size(); ++i)
    engine.seed(roots[i], gradients.empty() ? Tensor() : gradients[i]);
  return engine.run();
}

}  // namespace

void backward(const std::vector<Tensor>& roots, const std::vector<Tensor>& gradients,
              BackwardOptions options) {
  if (instrument::timesSteps() && !roots.empty()) [[unlikely]]
    graph::onHost({}, [root = graph::alias(roots[0])] { instrument::backwardBegins(root); });
  runEngine(roots, gradients, nullptr, options);
}

std::vector<Tensor> grad(const std::vector<Tensor>& roots, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& gradients, BackwardOptions options) {
  std::vector<Tensor> results = runEngine(roots, gradients, &inputs, options);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() && !options.allowUnused) {
      fail("grad",
           "no root depends on input " + std::to_string(i) + "; set allowUnused if that is meant");
    }
  }
  return results;
}

void Tensor::backward(const Tensor& gradient, bool retainGraph, bool createGraph) const {
  rt::backward({*this}, gradient.defined() ? std::vector<Tensor>{gradient} : std::vector<Tensor>{},
               {retainGraph, createGraph, false});
}

}  // namespace lacuna::rt
