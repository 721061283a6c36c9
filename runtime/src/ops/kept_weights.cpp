// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/kept_weights.h"

#include <mutex>
#include <utility>

#include "core/biased_lock.h"
#include "core/fork_locks.h"
#include "tensor/layout.h"
#include "tensor/node.h"
#include "tensor/trace.h"

namespace lacuna::rt {

namespace {

BiasedLock gKeptLock;  ///< of every Storage::kept; nothing is allocated or freed under it

bool isOf(const KeptWeights& kept, const Tensor& weight) {
  const TensorImpl& impl = *weight.impl();
  return kept.version == weight.version() && kept.offset == impl.offset && kept.shape == impl.shape;
}

/// False where the program may write the weights unseen, and in a trace: what a trace finds made
/// would not be made again in its replays.
bool mayKeep(const Tensor& weight) {
  const Storage& storage = *weight.impl()->storage;
  const bool areWeights = storage.role == Role::Parameter || storage.keptCopy;
  return !graph::tracing() && areWeights && !storage.lent.load(std::memory_order_relaxed) &&
         weight.isContiguous();
}

KeptWeights copyOf(const Tensor& weight, Tensor memory) {
  return {nullptr,        std::move(memory),      weight.version(), weight.impl()->offset,
          weight.shape(), CpuQueue::chosenIndex()};
}

/// `made` takes the place of what was kept; that is let go without the lock.
void keep(Storage& storage, std::shared_ptr<KeptWeights> Storage::*place,
          std::shared_ptr<KeptWeights> made) {
  const std::lock_guard lock(gKeptLock);
  (storage.*place).swap(made);
  storage.keepsCopies.store(true, std::memory_order_relaxed);
}

const ForkLock kKeptForkLock{LockOrder::KeptWeights, [] { gKeptLock.lockForFork(); },
                             [] { gKeptLock.unlock(); }};

}  // namespace

std::shared_ptr<KeptWeights> keptWeights(const Tensor& weight, const kernel::WeightOrder& order) {
  Storage& storage = *weight.impl()->storage;
  const bool keeps = mayKeep(weight);
  if (!keeps) dropKeptWeights(weight);  // what was kept before the program had the address
  if (!keeps || order.bytes == 0) return nullptr;
  {
    const std::lock_guard lock(gKeptLock);
    // The copy is filled by an execution, so it is of use to the queue of that execution alone.
    if (storage.kept && isOf(*storage.kept, weight) &&
        storage.kept->queue == CpuQueue::chosenIndex() &&
        storage.kept->arranged->order == order.text)
      return storage.kept;
  }
  Tensor memory;
  try {
    memory = emptyWorkspace(order.bytes, weight.device());
  } catch (const OutOfMemory&) {
    return nullptr;
  }
  auto fresh = std::make_shared<KeptWeights>(copyOf(weight, std::move(memory)));
  fresh->arranged =
      std::make_shared<kernel::ArrangedWeights>(dataOf(*fresh->memory.impl()), order.text);
  keep(storage, &Storage::kept, fresh);
  return fresh;
}

Tensor keptShort(const Tensor& x, DType type) {
  Storage& storage = *x.impl()->storage;
  if (!mayKeep(x)) {
    dropKeptWeights(x);
    return x.to(type);
  }
  {
    const std::lock_guard lock(gKeptLock);
    const KeptWeights* kept = storage.keptShort.get();
    if (kept != nullptr && isOf(*kept, x) && kept->memory.dtype() == type) return kept->memory;
  }
  const NoGrad guard;
  Tensor copy = x.detach().to(type);
  copy.setRole(Role::Workspace);
  copy.impl()->storage->keptCopy = true;
  keep(storage, &Storage::keptShort, std::make_shared<KeptWeights>(copyOf(x, copy)));
  return copy;
}

void dropKeptWeights(const Tensor& weight) {
  dropKeptWeights(*weight.impl()->storage);
}
void dropKeptWeights(Storage& storage) {
  if (!storage.keepsCopies.load(std::memory_order_relaxed)) return;
  std::shared_ptr<KeptWeights> arranged, narrow;
  const std::lock_guard lock(gKeptLock);
  storage.kept.swap(arranged);
  storage.keptShort.swap(narrow);
  storage.keepsCopies.store(false, std::memory_order_relaxed);
}

}  // namespace lacuna::rt
