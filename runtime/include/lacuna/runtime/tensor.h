// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/runtime/dtype.h"
#include "lacuna/runtime/error.h"
#include "lacuna/runtime/ref.h"
#include "lacuna/runtime/shape.h"

namespace lacuna::rt {

enum class DeviceType : std::uint8_t { Cpu, Meta, Cuda };

/// Where a tensor lives and its operators run. `meta` tensors have shapes and memory accounting,
/// but no values.
struct Device {
  DeviceType type = DeviceType::Cpu;
  int index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};
inline constexpr Device kCpu{};
inline constexpr Device kMeta{DeviceType::Meta, 0};
[[nodiscard]] std::string toString(Device device);

/// The purpose of memory; the numbers are those of nvtx_schema.h.
enum class Role : std::uint8_t {
  Other,
  Parameter,
  Gradient,
  Activation,
  Optimizer,
  Input,
  Workspace,
  Communication,
  Cached
};
inline constexpr int kRoleCount = 9;
[[nodiscard]] const char* name(Role role);

struct Options {
  DType dtype = DType::F32;
  Device device = kCpu;
  Role role =
      Role::Other;  ///< Other: taken from the context (activation in forward, gradient in backward)
};

struct TensorImpl;
void retainObject(TensorImpl* impl);
void releaseObject(TensorImpl* impl);
struct Storage;

/// A strided view of typed memory, shared by handle: copies of a Tensor are the same tensor.
///
/// Operators on the CPU are enqueued and run later, in order, on the device's queue; functions that
/// hand values to the host (`item`, `toVector`, `host`) wait for the queue. Memory is
/// queue-ordered: a tensor may be dropped as soon as what uses it was enqueued. A tensor may be
/// used from several threads as long as no two of them change it. Misuse throws Error, which names
/// the operator.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  [[nodiscard]] bool defined() const { return static_cast<bool>(impl_); }
  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] const Shape& strides() const;  ///< in elements
  [[nodiscard]] std::int64_t size(std::int64_t dim) const;
  [[nodiscard]] int rank() const { return shape().rank(); }
  [[nodiscard]] std::int64_t numel() const { return shape().numel(); }
  [[nodiscard]] std::size_t sizeBytes() const;  ///< numel × size of an element
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] Device device() const;
  [[nodiscard]] bool isContiguous() const;
  [[nodiscard]] bool isMeta() const { return device().type == DeviceType::Meta; }

  /// Start of the elements, without waiting for the queue. Writing through it is right only for a
  /// tensor that no enqueued operator uses (fresh from emptyHost), or after synchronize().
  [[nodiscard]] void* data() const;
  /// The elements, after waiting for the queue. The tensor must be contiguous and hold T.
  template <class T>
  [[nodiscard]] std::span<T> host() const {
    return {static_cast<T*>(hostBytes("host", DTypeOf<T>::kValue)),
            static_cast<std::size_t>(numel())};
  }
  /// A copy of the values as T (converted), in row-major order, after waiting for the queue.
  template <class T>
  [[nodiscard]] std::vector<T> toVector() const;
  /// The value of a tensor of one element, after waiting for the queue.
  [[nodiscard]] double item() const;

  // Views share the memory; all are differentiable.
  [[nodiscard]] Tensor view(
      const Shape& shape) const;  ///< one size may be -1; throws where a copy would be needed
  [[nodiscard]] Tensor reshape(const Shape& shape) const;  ///< a view if possible, else a copy
  [[nodiscard]] Tensor flatten(int startDim = 0, int endDim = -1) const;
  [[nodiscard]] Tensor permute(Shape dims) const;
  [[nodiscard]] Tensor transpose(int a, int b) const;
  [[nodiscard]] Tensor t() const { return transpose(-2, -1); }
  [[nodiscard]] Tensor expand(Shape shape) const;
  [[nodiscard]] Tensor squeeze(int dim) const;
  [[nodiscard]] Tensor unsqueeze(int dim) const;
  /// Elements begin, begin + step, … < end along `dim`; negative bounds count from the end, as in
  /// Python.
  [[nodiscard]] Tensor slice(int dim, std::int64_t begin, std::int64_t end,
                             std::int64_t step = 1) const;
  [[nodiscard]] Tensor select(int dim, std::int64_t index) const;

  [[nodiscard]] Tensor contiguous() const;
  [[nodiscard]] Tensor clone() const;
  /// Without history where the new type cannot have gradients. Where an integer type cannot hold a
  /// value, a floating number gives the nearest value that fits (NaN 0), and an integer wraps
  /// around.
  [[nodiscard]] Tensor to(DType dtype) const;
  /// Throws where a history would end, as on the way to meta while gradients are recorded.
  [[nodiscard]] Tensor to(Device device) const;

  // In place. The version of the memory rises, so that a backward that saved the old values throws.
  // While gradients are recorded, a change that matters to them is recorded too (mul_ by a tensor
  // throws). It throws where other tensors see the same memory: a view of a tensor, or a tensor
  // with views, that have a history.
  Tensor& fill_(double value);
  Tensor& zero_() { return fill_(0); }
  Tensor& copy_(const Tensor& source);  ///< converts and broadcasts
  Tensor& add_(const Tensor& other, double alpha = 1);
  Tensor& mul_(const Tensor& other);
  Tensor& mul_(double factor);
  [[nodiscard]] std::uint32_t version() const;

  // Autograd; see autograd.h.
  [[nodiscard]] bool requiresGrad() const;
  Tensor& setRequiresGrad(bool on = true);
  [[nodiscard]] bool isLeaf() const;
  /// Undefined until a backward reached this leaf. Later backwards add to it in place, unless
  /// others hold it too.
  [[nodiscard]] Tensor grad() const;
  void setGrad(Tensor grad) const;
  /// Runs the backward from this tensor; `gradient` may be left out for one element.
  void backward(const Tensor& gradient = {}, bool retainGraph = false,
                bool createGraph = false) const;
  [[nodiscard]] Tensor detach() const;  ///< same memory, no history
  /// Calls the hook with the gradient when a backward computes it; what it returns, if defined,
  /// replaces it, and must have its shape, type and device.
  void registerHook(std::function<Tensor(const Tensor&)> hook) const;

  /// Shown in memory events and in the out-of-memory report.
  Tensor& setName(std::string_view name);
  [[nodiscard]] std::string_view name() const;
  Tensor& setRole(Role role);
  [[nodiscard]] Role role() const;

  [[nodiscard]] TensorImpl* impl() const { return impl_.get(); }
  [[nodiscard]] bool sharesMemoryWith(const Tensor& other) const;
  /// Shape, type and values (shortened), after waiting for the queue.
  [[nodiscard]] std::string toString() const;

 private:
  void* hostBytes(const char* op, DType expected) const;
  Ref<TensorImpl> impl_;
};

[[nodiscard]] Tensor empty(const Shape& shape, Options options = {});
[[nodiscard]] Tensor zeros(const Shape& shape, Options options = {});
[[nodiscard]] Tensor ones(const Shape& shape, Options options = {});
[[nodiscard]] Tensor full(const Shape& shape, double value, Options options = {});
[[nodiscard]] Tensor arange(std::int64_t count, Options options = {DType::I64});
[[nodiscard]] inline Tensor scalar(double value, Options options = {}) {
  return full({}, value, options);
}
[[nodiscard]] Tensor emptyLike(const Tensor& tensor);
[[nodiscard]] Tensor zerosLike(const Tensor& tensor);
/// CPU memory that the host may fill at once through data(), from any thread and without the queue:
/// for loader workers. Operators take it like any other tensor. It comes from its own pool and its
/// role is Input.
[[nodiscard]] Tensor emptyHost(const Shape& shape, DType dtype);
/// Copies host values into a new CPU tensor; the host memory is free for reuse on return.
[[nodiscard]] Tensor fromBytes(const void* values, const Shape& shape, DType dtype);
template <class T>
[[nodiscard]] Tensor fromVector(const std::vector<T>& values, const Shape& shape) {
  if (static_cast<std::int64_t>(values.size()) != shape.numel()) {
    fail("fromVector", std::to_string(values.size()) + " values do not fill " + shape.toString());
  }
  return fromBytes(values.data(), shape, DTypeOf<T>::kValue);
}
template <>
Tensor fromVector<bool>(const std::vector<bool>& values, const Shape& shape);

template <class T>
std::vector<T> Tensor::toVector() const {
  const Tensor held = detach().to(DTypeOf<T>::kValue).contiguous();
  const auto values = held.host<T>();
  return {values.begin(), values.end()};
}

/// Waits until everything enqueued so far has run; throws Error with the operator's name if some of
/// it failed.
void synchronize();

}  // namespace lacuna::rt
