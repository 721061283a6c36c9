// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/tensor.h"

#include <algorithm>
#include <cstring>

#include "alloc/staging_ring.h"
#include "backend/backend.h"
#include "lacuna/runtime/ops.h"
#include "tensor/layout.h"
#include "tensor/node.h"
#include "tensor/trace.h"

namespace lacuna::rt {

namespace {

const OpInfo kFill{"fill"};
const OpInfo kFromBytes{"from_host"};
const OpInfo kArange{"arange"};
const Name kItem{"item"};
const Name kCopyToHost{"copy_to_host"};

Role roleFromContext(Role wanted) {
  if (wanted != Role::Other) return wanted;
  switch (instrument::tState.direction) {
    case instrument::Direction::Backward:
      return Role::Gradient;
    case instrument::Direction::Optimizer:
      return Role::Workspace;
    default:
      return Role::Activation;
  }
}

Ref<Storage> storageOver(Block* block, std::size_t bytes, Device device, Role role) {
  auto* storage = new Storage;
  auto owner = Ref<Storage>::adopt(storage);
  storage->block = block;
  storage->data = reinterpret_cast<void*>(storage->block->address);
  storage->bytes = bytes;
  storage->device = device;
  storage->role = role;
  return owner;
}

Ref<Storage> newStorage(std::size_t bytes, Device device, Role role) {
  Ref<Storage> storage =
      storageOver(allocatorOf(device).allocate(bytes, role), bytes, device, role);
  storage->writer = static_cast<std::uint8_t>(CpuQueue::chosenIndex());
  const QueueMask users =
      device.type == DeviceType::Meta ? Storage::kEveryQueue : CpuQueue::chosenBit();
  storage->users.store(users, std::memory_order_relaxed);
  return storage;
}

Tensor withStorage(Ref<Storage> storage, const Shape& shape, const Shape& strides, DType dtype) {
  auto* impl = new TensorImpl;
  impl->storage = std::move(storage);
  impl->shape = shape;
  impl->strides = strides;
  impl->dtype = dtype;
  return Tensor(Ref<TensorImpl>::adopt(impl));
}

Tensor fresh(Ref<Storage> storage, const Shape& shape, DType dtype) {
  return withStorage(std::move(storage), shape, shape.contiguousStrides(), dtype);
}

std::size_t bytesOf(const char* op, const Shape& shape, DType dtype) {
  return static_cast<std::size_t>(checkedNumel(op, shape, dtype)) * itemSize(dtype);
}

}  // namespace

// Strides take a size of zero for one, and have to fit as well.
std::int64_t checkedNumel(const char* op, const Shape& shape, DType dtype) {
  auto bytes = static_cast<std::int64_t>(itemSize(dtype));
  for (const std::int64_t dim : shape) {
    if (dim < 0) fail(op, "negative size in " + shape.toString());
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(dim, 1), &bytes))
      fail(op, std::string(name(dtype)) + shape.toString() +
                   " is too large: no memory has that many bytes");
  }
  return shape.numel();
}

void failUndefined(const char* op, const std::string& argument) {
  fail(op,
       argument +
           " is not defined (a default-constructed tensor, or a gradient that was never computed)");
}

void failUndefined(const char* op, const char* names, std::initializer_list<bool> defined) {
  std::string_view rest = names;
  for (const bool there : defined) {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    if (!there) failUndefined(op, std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  failUndefined(op, names);
}

TensorImpl* checked(const Tensor& tensor) {
  if (!tensor.defined())
    failUndefined(instrument::tOp != nullptr ? instrument::tOp->name->text : "tensor", "a tensor");
  return tensor.impl();
}

void retainObject(TensorImpl* impl) {
  impl->retain();
}
void releaseObject(TensorImpl* impl) {
  if (impl->release()) delete impl;
}

AutogradMeta::AutogradMeta() = default;
AutogradMeta::~AutogradMeta() = default;

namespace {

// A host block may still be read by what is enqueued, so it goes back in queue order.
void giveBackHost(Block* block, QueueMask users) {
  static const Name kRelease{"release_host"};
  const QueueMask known = users != 0 ? users : CpuQueue::chosenBit();
  if (block->staging != nullptr) return releaseStaged(block, known);
  CpuQueue::whenPassed(known, kRelease, [block] { hostAllocator().free(block); });
}

}  // namespace

void destroy(Storage* storage) {
  if (Block* block = storage->block; block != nullptr) [[likely]] {
    const QueueMask users = storage->users.load(std::memory_order_acquire);
    if (storage->host) {
      giveBackHost(block, users);
    } else {
      allocatorOf(storage->device).free(block, users);
    }
  }
  delete storage;
}

std::string toString(Device device) {
  static constexpr const char* kNames[] = {"cpu", "meta", "cuda"};
  const std::string text = kNames[static_cast<int>(device.type)];
  return device.type == DeviceType::Cuda ? text + ":" + std::to_string(device.index) : text;
}

const char* name(Role role) {
  static constexpr const char* kNames[] = {"other",      "parameter",     "gradient",
                                           "activation", "optimizer",     "input",
                                           "workspace",  "communication", "cached"};
  return kNames[static_cast<int>(role)];
}

bool stridesAreContiguous(const Shape& shape, const Shape& strides) {
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

Tensor makeView(const Ref<Storage>& storage, const Shape& shape, const Shape& strides,
                std::int64_t offset, DType dtype) {
  auto* impl = new TensorImpl;
  impl->storage = storage;
  impl->shape = shape;
  impl->strides = strides;
  impl->offset = offset;
  impl->dtype = dtype;
  impl->isView = true;
  impl->contiguous = stridesAreContiguous(shape, strides);
  return Tensor(Ref<TensorImpl>::adopt(impl));
}

const Shape& Tensor::shape() const {
  return checked(*this)->shape;
}
const Shape& Tensor::strides() const {
  return checked(*this)->strides;
}
std::int64_t Tensor::size(std::int64_t dim) const {
  const int at = normalizeDim("size", dim, shape());
  if (rank() == 0)
    fail("size",
         "dimension " + std::to_string(dim) + " of " + shape().toString() + ", which has none");
  return shape()[at];
}
std::size_t Tensor::sizeBytes() const {
  return static_cast<std::size_t>(numel()) * itemSize(dtype());
}
DType Tensor::dtype() const {
  return checked(*this)->dtype;
}
Device Tensor::device() const {
  return checked(*this)->storage->device;
}
bool Tensor::isContiguous() const {
  return checked(*this)->contiguous;
}
std::uint32_t Tensor::version() const {
  return checked(*this)->storage->version.load(std::memory_order_relaxed);
}
bool Tensor::sharesMemoryWith(const Tensor& other) const {
  return checked(*this)->storage == checked(other)->storage;
}

void* Tensor::data() const {
  const TensorImpl& impl = *checked(*this);
  graph::leave("it asks for the address of a tensor");
  impl.storage->lent.store(true, std::memory_order_relaxed);
  return dataOf(impl);
}

void* Tensor::hostBytes(const char* op, DType expected) const {
  if (dtype() != expected) {
    fail(op, std::string("the tensor holds ") + rt::name(dtype()) + ", asked for as " +
                 rt::name(expected));
  }
  if (isMeta()) fail(op, "a meta tensor has no values");
  if (!isContiguous())
    fail(op, "the tensor " + shape().toString() + " is not contiguous; call contiguous() first");
  waitForUsers(*impl_->storage, kCopyToHost, LACUNA_RT_SYNC_COPY);
  return data();
}

double Tensor::item() const {
  if (numel() != 1) fail("item", "the tensor " + shape().toString() + " has not one element");
  if (isMeta()) fail("item", "a meta tensor has no values");
  const Tensor wide = dtype() == DType::F32 ? *this : detach().to(DType::F64);
  waitForUsers(*wide.impl()->storage, kItem, LACUNA_RT_SYNC_ITEM);
  const void* value = dataOf(*wide.impl());
  return dtype() == DType::F32 ? *static_cast<const float*>(value)
                               : *static_cast<const double*>(value);
}

Tensor empty(const Shape& shape, Options options) {
  const std::size_t bytes = bytesOf("empty", shape, options.dtype);
  return fresh(newStorage(bytes, options.device, roleFromContext(options.role)), shape,
               options.dtype);
}

Tensor emptyLikeFlat(const TensorImpl& like) {
  const Device device = like.storage->device;
  const std::size_t bytes = static_cast<std::size_t>(like.shape.numel()) * itemSize(like.dtype);
  return withStorage(newStorage(bytes, device, roleFromContext(Role::Other)), like.shape,
                     like.strides, like.dtype);
}

Tensor emptyHost(const Shape& shape, DType dtype) {
  const std::size_t bytes = bytesOf("emptyHost", shape, dtype);
  Block* staged = StagingFill::allocate(bytes);
  Block* block = staged != nullptr ? staged : hostAllocator().allocate(bytes, Role::Input);
  auto storage = storageOver(block, bytes, kCpu, Role::Input);
  storage->host = true;
  return fresh(std::move(storage), shape, dtype);
}

Tensor full(const Shape& shape, double value, Options options) {
  const Op op(kFill, {});
  Tensor out = empty(shape, options);
  if (out.numel() == 0) return out;
  op.launch(options.device, {out.sizeBytes(), 0, LACUNA_RT_EXECUTION_FILL},
            [view = viewOf(out), value] { kernel::fill(view, value); });
  return out;
}

Tensor zeros(const Shape& shape, Options options) {
  return full(shape, 0, options);
}
Tensor ones(const Shape& shape, Options options) {
  return full(shape, 1, options);
}
Tensor emptyLike(const Tensor& tensor) {
  needsDefined("empty_like", "the tensor", tensor);
  const Options options{tensor.dtype(), tensor.device()};
  if (tensor.isContiguous() || !isDense(tensor)) return empty(tensor.shape(), options);
  return emptyStrided(tensor.shape(), tensor.strides(), options);
}
Tensor zerosLike(const Tensor& tensor) {
  needsDefined("zeros_like", "the tensor", tensor);
  return zeros(tensor.shape(), {tensor.dtype(), tensor.device()});
}

Tensor arange(std::int64_t count, Options options) {
  const Op op(kArange, {});
  if (count < 0) op.fail("of " + std::to_string(count) + " numbers");
  Tensor out = empty({count}, options);
  op.launch(options.device, {out.sizeBytes()}, [view = viewOf(out)] { kernel::arange(view); });
  return out;
}

Tensor fromBytes(const void* values, const Shape& shape, DType dtype) {
  const Op op(kFromBytes, {});
  Tensor out = emptyHost(shape, dtype);
  if (out.sizeBytes() != 0) std::memcpy(dataOf(*out.impl()), values, out.sizeBytes());
  return out;
}

template <>
Tensor fromVector<bool>(const std::vector<bool>& values, const Shape& shape) {
  const std::vector<std::uint8_t> bytes(values.begin(), values.end());
  if (static_cast<std::int64_t>(bytes.size()) != shape.numel())
    fail("fromVector", std::to_string(bytes.size()) + " values do not fill " + shape.toString());
  return fromBytes(bytes.data(), shape, DType::Bool);
}

namespace {

void describe(const Storage& storage, const char* tensor, Role role) {
  if (storage.block->staging != nullptr) {
    storage.block->tensor = tensor;
    storage.block->role = role;
  } else {
    (storage.host ? hostAllocator() : allocatorOf(storage.device))
        .describe(storage.block, tensor, role);
  }
}

}  // namespace

Tensor& Tensor::setName(std::string_view name) {
  const Storage& storage = *checked(*this)->storage;
  describe(storage, internText(name), storage.block->role);
  return *this;
}

std::string_view Tensor::name() const {
  return checked(*this)->storage->block->tensor;
}

Tensor& Tensor::setRole(Role role) {
  Storage& storage = *checked(*this)->storage;
  describe(storage, storage.block->tensor, role);
  storage.role = role;
  return *this;
}

Role Tensor::role() const {
  return checked(*this)->storage->role;
}

std::string Tensor::toString() const {
  if (!defined()) return "undefined tensor";
  std::string text = std::string(rt::name(dtype())) + shape().toString();
  if (isMeta()) return text + " on meta";
  const auto values = toVector<double>();
  text += " {";
  for (std::size_t i = 0; i < values.size() && i < 16; ++i)
    text += (i != 0 ? ", " : "") + std::to_string(values[i]);
  return text + (values.size() > 16 ? ", …}" : "}");
}

}  // namespace lacuna::rt
