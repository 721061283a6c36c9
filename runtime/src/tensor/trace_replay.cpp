// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "lacuna/runtime/ops.h"
#include "tensor/node.h"
#include "tensor/trace.h"

/// A trace, once more.
namespace lacuna::rt::graph {

namespace {

/// The operators that are about to be enqueued change that memory.
void announceChange(Storage& storage) {
  storage.version.fetch_add(1, std::memory_order_relaxed);
  orderForWrite(storage);
  if (storage.keepsCopies.load(std::memory_order_relaxed)) dropKeptWeights(storage);
}

void announceUse(Storage& storage, bool isWritten) {
  if (isWritten) return announceChange(storage);
  if ((storage.users.load(std::memory_order_acquire) & CpuQueue::chosenBit()) == 0)
    orderRead(storage);
}

Tensor gradientOf(const TensorImpl& leaf) {
  return leaf.autograd ? leaf.autograd->grad : Tensor();
}

}  // namespace

std::string Trace::mismatch() const {
  for (const Expectation& expected : expectations_) {
    if (!expected.holds()) return expected.otherwise;
  }
  for (const Outside& held : outsides_) {
    if (held.hold && held.hold->useCount() == 1) return "a tensor that it uses is gone";
  }
  for (const Leaf& leaf : leaves_) {
    const Tensor now = gradientOf(*leaf.impl);
    if (now.defined() != leaf.hadGradient) {
      return now.defined() ? "a parameter has a gradient, and had none"
                           : "a parameter has no gradient, and had one";
    }
    if (leaf.isUsed && !leaf.isFirst(*now.impl()->storage)) return "a gradient lies elsewhere";
    if (!leaf.last.defined() || leaf.hadGradient) continue;
    if (leaf.last.impl()->useCount() > 1) return "a gradient of the run before is still held";
  }
  return "";
}

std::vector<Tensor> Trace::replay(const std::vector<Tensor>& inputs) {
  static const OpInfo kInfo{"static_graph"};
  const CompositeOp range(kInfo, {});
  CpuQueue& queue = CpuQueue::current();
  const std::vector<Tensor> found = gradients();
  enter(inputs);
  try {
    launchAgain(queue);
  } catch (...) {  // by an action on the host: its gradients must not outlive the trace
    leaveGradients(found);
    last_ = queue.enqueued();
    throw;
  }
  leaveGradients(found);
  std::vector<Tensor> results = copiesOfResults();
  last_ = queue.enqueued();
  return results;
}

void Trace::launchAgain(CpuQueue& queue) {
  std::deque<PhaseScope> phases;
  for (const Step& step : steps_) {
    switch (step.kind) {
      case Kind::Launches:
        for (std::size_t i = step.from; i < step.to; ++i) queue.enqueueAgain(launches_[i]);
        break;
      case Kind::Host:
        runHost(hosts_[step.from]);
        break;
      case Kind::PhaseBegin:
        phases.emplace_back(static_cast<Phase>(step.from));
        break;
      case Kind::PhaseEnd:
        phases.pop_back();
    }
  }
}

// What the replay before enqueued may still wait in the queue, with the addresses of its inputs. So
// the queue itself puts the new ones in their places.
void Trace::enter(const std::vector<Tensor>& inputs) {
  for (const Outside& held : outsides_) announceUse(*held.storage, held.written);
  for (const Ref<Storage>& storage : survivors_) announceChange(*storage);
  std::vector<std::uintptr_t> begins;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorImpl& impl = *inputs[i].impl();
    announceUse(*impl.storage, inputs_[i].written);
    begins.push_back(reinterpret_cast<std::uintptr_t>(dataOf(impl)));
  }
  const RandomState random = takeDraws(drawn_);
  if (relocations_.empty() && drawn_ == 0) return;
  static const Name kEnter{"static_graph.enter"};
  CpuQueue::current().enqueue(
      kEnter, {.kind = LACUNA_RT_EXECUTION_UPKEEP, .small = true},
      [this, begins = std::move(begins), random] { patch(begins, random); });
}

void Trace::patch(const std::vector<std::uintptr_t>& begins, RandomState random) {
  for (const Relocation& place : relocations_)
    *place.word = begins[place.input] + static_cast<std::uintptr_t>(place.offset);
  random_ = random;
}

std::vector<Tensor> Trace::gradients() const {
  std::vector<Tensor> found;
  for (const Leaf& leaf : leaves_) found.push_back(leaf.stays ? gradientOf(*leaf.impl) : Tensor());
  return found;
}

void Trace::leaveGradients(const std::vector<Tensor>& found) {
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    const Leaf& leaf = leaves_[i];
    leaf.impl->meta().grad = leaf.stays ? found[i] : leaf.last;
  }
}

std::vector<Tensor> Trace::copiesOfResults() const {
  const NoGrad guard;
  std::vector<Tensor> copies;
  for (const Tensor& result : results_) copies.push_back(result.clone());
  return copies;
}

}  // namespace lacuna::rt::graph
