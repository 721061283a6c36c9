// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "autograd/node.h"
#include "backend/backend.h"
#include "core/layout.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/ops.h"

namespace lacuna::rt {

namespace {

/// A node whose backward is due, with the gradients of its outputs gathered so far.
struct Pending {
  Ref<Node> node;
  std::vector<Tensor> gradients;
};

/// Gradients of tensors that grad() asks for: where they arrive, and in which result.
struct Capture {
  const Node* node;
  std::uint32_t index;
  std::size_t result;
};

class Engine {
 public:
  Engine(BackwardOptions options, const std::vector<Tensor>& captured) : options_(options), results_(captured.size()) {
    for (std::size_t i = 0; i < captured.size(); ++i) {
      const Edge edge = edgeOf(captured[i]);
      if (!edge.node) fail("grad", "input " + std::to_string(i) + " does not require a gradient");
      captures_.push_back({edge.node.get(), edge.index, i});
      kept_.push_back(edge.node);
    }
  }

  void seed(const Tensor& root, const Tensor& gradient) {
    const Edge edge = edgeOf(root);
    if (!edge.node) fail("backward", "the tensor does not require a gradient: nothing it was computed from does");
    if (!gradient.defined() && root.numel() != 1) {
      fail("backward",
           "a gradient is needed for a tensor of " + root.shape().toString() + "; only one element has a default");
    }
    if (gradient.defined() && gradient.shape() != root.shape()) {
      fail("backward", "gradient " + gradient.shape().toString() + " for a tensor " + root.shape().toString());
    }
    give(edge, gradient.defined() ? gradient : ones(root.shape(), {root.dtype(), root.device()}));
  }

  // An edge leads from a node to an older one, so the highest sequence number first is an order in which every node
  // has all its gradients when its turn comes.
  std::vector<Tensor> run() {
    countLeafUses();
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), older);
      const Ref<Node> node = std::move(heap_.back());
      heap_.pop_back();
      const auto found = pending_.find(node.get());
      std::vector<Tensor> gradients = std::move(found->second);
      pending_.erase(found);
      visit(*node, std::move(gradients));
    }
    return std::move(results_);
  }

 private:
  static bool older(const Ref<Node>& a, const Ref<Node>& b) { return a->sequence < b->sequence; }

  // A leaf's gradient is added as soon as its last contribution is there, and hooks see the sum.
  void countLeafUses() {
    std::vector<const Node*> stack;
    std::unordered_map<const Node*, bool> seen;
    for (const Ref<Node>& node : heap_) stack.push_back(node.get());
    for (const Node* node : stack) seen[node] = true;
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      for (const Edge& edge : node->edges) {
        if (!edge.node) continue;
        if (edge.node->leaf != nullptr) ++leafUses_[edge.node.get()];
        if (edge.node->leaf == nullptr && seen.emplace(edge.node.get(), true).second) stack.push_back(edge.node.get());
      }
    }
  }

  void give(const Edge& edge, Tensor gradient) {
    if (!edge.node) return;
    if (edge.node->leaf != nullptr) return giveLeaf(*edge.node, std::move(gradient));
    auto [at, fresh] = pending_.try_emplace(edge.node.get());
    if (fresh) {
      at->second.resize(edge.node->outputShapes.size());
      heap_.push_back(edge.node);
      std::push_heap(heap_.begin(), heap_.end(), older);
    }
    accumulate(at->second[edge.index], std::move(gradient));
  }

  void giveLeaf(Node& node, Tensor gradient) {
    Tensor& sum = leafSums_[&node];
    if (gradient.defined()) accumulate(sum, std::move(gradient));
    const auto uses = leafUses_.find(&node);
    if (uses != leafUses_.end() && --uses->second > 0) return;
    Tensor total = std::move(sum);
    leafSums_.erase(&node);
    if (total.defined()) finishLeaf(node, std::move(total));
  }

  void accumulate(Tensor& sum, Tensor gradient) {
    if (!gradient.defined()) return;
    if (!sum.defined()) {
      sum = std::move(gradient);
    } else if (!recording() && sum.impl()->useCount() == 1 && sum.impl()->storage->useCount() == 1 && isDense(sum)) {
      sum.add_(gradient);
    } else {
      sum = add(sum, gradient);
    }
  }

  void finishLeaf(Node& node, Tensor gradient) {
    AutogradMeta& meta = *node.leaf->autograd;
    for (const auto& hook : meta.hooks) {
      Tensor replaced = hook(gradient);
      if (replaced.defined()) gradient = std::move(replaced);
    }
    if (!captures_.empty()) return capture(node, 0, gradient);
    Tensor leaf(Ref<TensorImpl>::share(node.leaf));
    if (meta.grad.defined()) {
      if (!recording() && meta.grad.impl()->storage->useCount() == 1) {
        meta.grad.add_(gradient);
      } else {
        meta.grad = add(meta.grad, gradient);
      }
    } else {
      // A gradient that is also somebody else's (the caller's, another leaf's) must not be added to in place later.
      const bool shared = gradient.impl()->useCount() > 1 || gradient.impl()->storage->useCount() > 1;
      if (!recording() && (shared || !gradient.isContiguous())) gradient = gradient.clone();
      meta.grad = std::move(gradient);
      meta.grad.setRole(Role::Gradient);
    }
    if (meta.afterAccumulate) meta.afterAccumulate(leaf);
  }

  void capture(const Node& node, std::uint32_t index, const Tensor& gradient) {
    for (const Capture& wanted : captures_) {
      if (wanted.node == &node && wanted.index == index) results_[wanted.result] = gradient;
    }
  }

  void visit(Node& node, std::vector<Tensor> gradients) {
    for (const auto& [index, hook] : node.hooks) {
      if (!gradients[index].defined()) continue;
      Tensor replaced = hook(gradients[index]);
      if (replaced.defined()) gradients[index] = std::move(replaced);
    }
    for (std::uint32_t i = 0; i < gradients.size(); ++i) {
      if (!captures_.empty() && gradients[i].defined()) capture(node, i, gradients[i]);
      if (!gradients[i].defined()) gradients[i] = zeros(node.outputShapes[i], {node.dtype, node.device});
    }
    if (node.freed) {
      fail(node.info->name.text, "backward ran through this graph already; pass retainGraph = true the first time");
    }
    std::vector<Tensor> inputs(node.edges.size());
    runNode(node, gradients, inputs);
    gradients.clear();
    if (!options_.retainGraph && !options_.createGraph) release(node);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (node.edges[i].node) give(node.edges[i], std::move(inputs[i]));
    }
  }

  static void runNode(Node& node, const std::vector<Tensor>& gradients, std::vector<Tensor>& inputs) {
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
      ~Restore() {
        if (context.announced) instrument::opEnd(context);
        instrument::tOp = context.outer;
      }
    } restore{context};
    if (instrument::sinks() != 0) [[unlikely]] {
      std::vector<const Tensor*> shown;
      for (const Tensor& gradient : gradients) shown.push_back(&gradient);
      instrument::opBegin(context, shown);
    }
    node.info->backward(node, gradients.data(), inputs.data());
    if (AnomalyMode::enabled()) checkFinite(node, inputs);
  }

  static void checkFinite(const Node& node, const std::vector<Tensor>& inputs) {
    const NoGrad guard;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].defined() || inputs[i].isMeta()) continue;
      if (sum(logicalNot(isFinite(inputs[i])).to(DType::I64)).item() == 0) continue;
      fail(node.info->backwardName.text,
           "gradient of input " + std::to_string(i) + " is not finite; forward was: " +
               (node.forwardSite ? *node.forwardSite : "not recorded (anomaly mode was off)"));
    }
  }

  static void release(Node& node) {
    node.saved.clear();
    node.extra.reset();
    node.freed = true;
  }

  BackwardOptions options_;
  std::vector<Tensor> results_;
  std::vector<Capture> captures_;
  std::vector<Ref<Node>> kept_;
  std::vector<Ref<Node>> heap_;
  std::unordered_map<const Node*, std::vector<Tensor>> pending_;
  std::unordered_map<const Node*, int> leafUses_;
  std::unordered_map<const Node*, Tensor> leafSums_;
};

/// Direction and grad mode of the thread while a backward runs.
class BackwardGuard {
 public:
  explicit BackwardGuard(bool record) : direction_(instrument::tState.direction), mode_(GradMode::enabled()) {
    instrument::tState.direction = instrument::Direction::Backward;
    GradMode::set(record);
  }
  ~BackwardGuard() {
    instrument::tState.direction = direction_;
    GradMode::set(mode_);
  }

 private:
  instrument::Direction direction_;
  bool mode_;
};

std::vector<Tensor> runEngine(const std::vector<Tensor>& roots, const std::vector<Tensor>& gradients,
                              const std::vector<Tensor>& captured, BackwardOptions options) {
  if (!gradients.empty() && gradients.size() != roots.size()) {
    fail("backward", std::to_string(gradients.size()) + " gradients for " + std::to_string(roots.size()) + " tensors");
  }
  const PhaseScope phase(Phase::Backward);
  const BackwardGuard guard(options.createGraph);
  Engine engine(options, captured);
  for (std::size_t i = 0; i < roots.size(); ++i) engine.seed(roots[i], gradients.empty() ? Tensor() : gradients[i]);
  return engine.run();
}

}  // namespace

void backward(const std::vector<Tensor>& roots, const std::vector<Tensor>& gradients, BackwardOptions options) {
  runEngine(roots, gradients, {}, options);
}

std::vector<Tensor> grad(const std::vector<Tensor>& roots, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& gradients, BackwardOptions options) {
  std::vector<Tensor> results = runEngine(roots, gradients, inputs, options);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() && !options.allowUnused) {
      fail("grad", "no root depends on input " + std::to_string(i) + "; set allowUnused if that is meant");
    }
  }
  return results;
}

void Tensor::backward(const Tensor& gradient, bool retainGraph, bool createGraph) const {
  rt::backward({*this}, gradient.defined() ? std::vector<Tensor>{gradient} : std::vector<Tensor>{},
               {retainGraph, createGraph, false});
}

}  // namespace lacuna::rt
