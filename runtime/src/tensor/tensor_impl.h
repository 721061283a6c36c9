// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <list>
#include <memory>
#include <string>

#include "alloc/allocator.h"
#include "backend/common/queue.h"
#include "core/pooled.h"
#include "lacuna/runtime/tensor.h"

namespace lacuna::rt {

struct Node;
struct KeptWeights;
void destroy(Node* node);

/// Queue-ordered memory. Views share it; its version rises with every change in place.
///
/// It knows which queues have used it, so that queues that share a tensor run in the order of their
/// operators: a queue that reads runs after the last write, one that writes runs after all uses
/// before. Between two writes several threads may read on queues of their own.
struct Storage : RefCounted, Pooled<Storage> {
  static constexpr QueueMask kEveryQueue = ~QueueMask{0};
  static constexpr std::uint8_t kHost = 0xFF;

  // The small ones fill what the count leaves of a word.
  Role role = Role::Other;
  bool host = false;  ///< from the host pool: the block goes back when the queue has passed
  std::uint8_t writer = kHost;  ///< index of the queue that wrote last; kHost: the host did
  std::atomic<bool> lent{
      false};  ///< the program has the address, and may write there without a new version
  void* data = nullptr;
  std::size_t bytes = 0;
  Device device;
  /// The queues that run after the last write, and have used it since. Every queue of memory that
  /// has no values.
  std::atomic<QueueMask> users{0};
  std::atomic<std::uint32_t> version{0};
  bool keptCopy = false;  ///< a copy of weights that is kept with them
  std::atomic<bool> keepsCopies{false};
  Block* block = nullptr;
  std::uint64_t written =
      0;  ///< the execution of the last write; 0: some one that was enqueued by then
  /// For weights, under the lock of keptWeights(): their copies in the library's order and in 16
  /// bits.
  std::shared_ptr<KeptWeights> kept, keptShort;
};
void destroy(Storage* storage);
/// Makes the thread's queue run after the last write, or after all uses, of the memory.
[[gnu::cold]] void orderRead(Storage& storage);
void orderWrite(Storage& storage);
/// Waits until all that was enqueued to the queues that use the memory has run; throws their first
/// error.
void waitForUsers(const Storage& storage, const Name& what, LacunaRtSyncKind kind);

/// The state that autograd keeps of a tensor; absent for tensors without history.
struct AutogradMeta : Pooled<AutogradMeta> {
  AutogradMeta();
  ~AutogradMeta();  // where Node is complete
  bool requiresGrad = false;
  std::uint32_t outputIndex = 0;
  Ref<Node> gradFn;  ///< the node that made it; none for a leaf
  /// Weak: the leaf's accumulation node, owned by the graphs that use it, of several threads. Read
  /// and written under the lock of edgeOf().
  Node* accumulate = nullptr;
  Tensor grad;
  std::list<std::function<Tensor(const Tensor&)>> hooks;  ///< a list: one that runs may add to it
  std::function<void(Tensor&)> afterAccumulate;           ///< optimizer-in-backward
};

struct TensorImpl : RefCounted, Pooled<TensorImpl> {
  Ref<Storage> storage;
  Shape shape;
  Shape strides;
  std::int64_t offset = 0;  ///< in elements
  DType dtype = DType::F32;
  bool contiguous = true;
  bool isView = false;
  std::unique_ptr<AutogradMeta> autograd;

  AutogradMeta& meta() {
    if (!autograd) autograd = std::make_unique<AutogradMeta>();
    return *autograd;
  }
};

/// The implementation of a tensor that must be defined; throws where it is not.
TensorImpl* checked(const Tensor& tensor);
[[noreturn]] void failUndefined(const char* op, const std::string& argument);
/// The same for one of several: `names` are those of the arguments, "a, b", and `defined` marks
/// which of them are.
[[noreturn]] void failUndefined(const char* op, const char* names,
                                std::initializer_list<bool> defined);
/// The first check of an operator: throws where a tensor that it cannot do without is not defined,
/// naming the operator and the argument.
template <class... Tensors>
void needsDefined(const char* op, const char* names, const Tensors&... tensors) {
  if (!(tensors.defined() && ...)) [[unlikely]]
    failUndefined(op, names, {tensors.defined()...});
}
/// The number of elements of a tensor to be made; throws naming `op` for sizes that no memory can
/// have.
std::int64_t checkedNumel(const char* op, const Shape& shape, DType dtype);
/// A tensor over existing storage, without history.
Tensor makeView(const Ref<Storage>& storage, const Shape& shape, const Shape& strides,
                std::int64_t offset, DType dtype);
/// Lets go the copies of weights that are kept with them (see keptWeights).
void dropKeptWeights(const Tensor& weight);
void dropKeptWeights(Storage& storage);
/// The operator in progress changes the memory.
inline void orderForWrite(Storage& storage) {
  storage.written = 0;
  if (storage.users.load(std::memory_order_relaxed) != CpuQueue::chosenBit() ||
      storage.writer != CpuQueue::chosenIndex()) [[unlikely]]
    orderWrite(storage);
}
/// The operator that was just enqueued is the last one that changed the memory.
inline void noteWritten(const Tensor& tensor) {
  Storage& storage = *tensor.impl()->storage;
  if (storage.writer == CpuQueue::chosenIndex())
    storage.written = CpuQueue::enqueuedTo(storage.writer);
}
inline void bumpVersion(const Tensor& tensor) {
  Storage& storage = *tensor.impl()->storage;
  storage.version.fetch_add(1, std::memory_order_relaxed);
  orderForWrite(storage);
  if (storage.keepsCopies.load(std::memory_order_relaxed)) [[unlikely]]
    dropKeptWeights(tensor);
}
/// Fresh memory for a contiguous tensor like this one: the short way of empty().
Tensor emptyLikeFlat(const TensorImpl& like);
inline void* dataOf(const TensorImpl& impl) {
  return static_cast<std::byte*>(impl.storage->data) +
         impl.offset * static_cast<std::int64_t>(itemSize(impl.dtype));
}
/// The same, for an operator that the thread's queue is about to get.
inline void* usedData(const TensorImpl& impl) {
  Storage& storage = *impl.storage;
  if ((storage.users.load(std::memory_order_acquire) & CpuQueue::chosenBit()) == 0) [[unlikely]]
    orderRead(storage);
  return dataOf(impl);
}
/// True when equal positions in memory hold equal positions of the tensors, so that an elementwise
/// operator may see both as one row.
inline bool sameRow(const TensorImpl& a, const TensorImpl& b) {
  return a.contiguous && b.contiguous && a.dtype == b.dtype &&
         a.storage->device == b.storage->device && a.shape == b.shape;
}
bool stridesAreContiguous(const Shape& shape, const Shape& strides);

}  // namespace lacuna::rt
