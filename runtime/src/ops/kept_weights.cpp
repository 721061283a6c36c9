// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/kept_weights.h"

#include <mutex>
#include <utility>

#include "autograd/node.h"
#include "backend/common/fork.h"
#include "core/biased_lock.h"
#include "core/layout.h"

namespace lacuna::rt {

namespace {

BiasedLock gKeptLock;  ///< of every Storage::kept; nothing is allocated or freed under it

bool fits(const KeptWeights& kept, const Tensor& weight, const kernel::WeightOrder& order) {
  const TensorImpl& impl = *weight.impl();
  return kept.version == weight.version() && kept.offset == impl.offset && kept.shape == impl.shape &&
         kept.arranged->order == order.text;
}

}  // namespace

void lockKeptWeightsForFork() {
  gKeptLock.lockForFork();
}
void unlockKeptWeightsAfterFork() {
  gKeptLock.unlock();
}

std::shared_ptr<KeptWeights> keptWeights(const Tensor& weight, const kernel::WeightOrder& order) {
  Storage& storage = *weight.impl()->storage;
  const bool mayKeep =
      storage.role == Role::Parameter && !storage.lent.load(std::memory_order_relaxed) && weight.isContiguous();
  if (!mayKeep) dropKeptWeights(weight);  // what was kept before the program had the address
  if (!mayKeep || order.bytes == 0) return nullptr;
  {
    const std::lock_guard lock(gKeptLock);
    if (storage.kept && fits(*storage.kept, weight, order)) return storage.kept;
  }
  auto fresh = std::make_shared<KeptWeights>();
  try {
    fresh->memory = emptyWorkspace(order.bytes, weight.device());
  } catch (const OutOfMemory&) {
    return nullptr;
  }
  fresh->arranged = std::make_shared<kernel::ArrangedWeights>(dataOf(*fresh->memory.impl()), order.text);
  fresh->version = weight.version();
  fresh->offset = weight.impl()->offset;
  fresh->shape = weight.shape();
  std::shared_ptr<KeptWeights> before = fresh;
  const std::lock_guard lock(gKeptLock);
  storage.kept.swap(before);
  return fresh;
}

void dropKeptWeights(const Tensor& weight) {
  std::shared_ptr<KeptWeights> before;
  const std::lock_guard lock(gKeptLock);
  weight.impl()->storage->kept.swap(before);
}

}  // namespace lacuna::rt
