// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <list>
#include <memory>
#include <string>

#include "alloc/allocator.h"
#include "core/pooled.h"
#include "lacuna/runtime/tensor.h"

namespace lacuna::rt {

struct Node;
struct KeptWeights;
void destroy(Node* node);

/// Queue-ordered memory. Views share it; its version rises with every change in place.
struct Storage : RefCounted, Pooled<Storage> {
  void* data = nullptr;
  std::size_t bytes = 0;
  Device device;
  Role role = Role::Other;
  bool host = false;  ///< from the host pool: the block goes back when the queue has passed
  std::atomic<std::uint32_t> version{0};
  Block* block = nullptr;
  std::atomic<bool> lent{false};  ///< the program has the address, and may write there without a new version
  bool keptCopy = false;          ///< a copy of weights that is kept with them
  /// For weights, under the lock of keptWeights(): their copies in the library's order and in 16 bits.
  std::shared_ptr<KeptWeights> kept, keptShort;
  std::atomic<bool> keepsCopies{false};
};
void destroy(Storage* storage);

/// The state that autograd keeps of a tensor; absent for tensors without history.
struct AutogradMeta : Pooled<AutogradMeta> {
  AutogradMeta();
  ~AutogradMeta();  // where Node is complete
  bool requiresGrad = false;
  std::uint32_t outputIndex = 0;
  Ref<Node> gradFn;  ///< the node that made it; none for a leaf
  /// Weak: the leaf's accumulation node, owned by the graphs that use it, of several threads. Read and written under
  /// the lock of edgeOf().
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
/// The same for one of several: `names` are those of the arguments, "a, b", and `defined` marks which of them are.
[[noreturn]] void failUndefined(const char* op, const char* names, std::initializer_list<bool> defined);
/// The first check of an operator: throws where a tensor that it cannot do without is not defined, naming the operator
/// and the argument.
template <class... Tensors>
void needsDefined(const char* op, const char* names, const Tensors&... tensors) {
  if (!(tensors.defined() && ...)) [[unlikely]]
    failUndefined(op, names, {tensors.defined()...});
}
/// The number of elements of a tensor to be made; throws naming `op` for sizes that no memory can have.
std::int64_t checkedNumel(const char* op, const Shape& shape, DType dtype);
/// A tensor over existing storage, without history.
Tensor makeView(const Ref<Storage>& storage, const Shape& shape, const Shape& strides, std::int64_t offset,
                DType dtype);
/// Lets go the copies of weights that are kept with them (see keptWeights).
void dropKeptWeights(const Tensor& weight);
inline void bumpVersion(const Tensor& tensor) {
  Storage& storage = *tensor.impl()->storage;
  storage.version.fetch_add(1, std::memory_order_relaxed);
  if (storage.keepsCopies.load(std::memory_order_relaxed)) [[unlikely]]
    dropKeptWeights(tensor);
}
/// Fresh memory for a contiguous tensor like this one: the short way of empty().
Tensor emptyLikeFlat(const TensorImpl& like);
inline void* dataOf(const TensorImpl& impl) {
  return static_cast<std::byte*>(impl.storage->data) + impl.offset * static_cast<std::int64_t>(itemSize(impl.dtype));
}
/// True when equal positions in memory hold equal positions of the tensors, so that an elementwise operator may see
/// both as one row.
inline bool sameRow(const TensorImpl& a, const TensorImpl& b) {
  return a.contiguous && b.contiguous && a.dtype == b.dtype && a.storage->device == b.storage->device &&
         a.shape == b.shape;
}
bool stridesAreContiguous(const Shape& shape, const Shape& strides);

}  // namespace lacuna::rt
