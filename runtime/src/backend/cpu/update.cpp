// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "backend/cpu/loops.h"

/// Optimizer updates: one pass over each parameter with its state, many parameters in one execution.
namespace lacuna::rt {

using cpu::WideT;

namespace {

template <class T>
void sgdRange(const kernel::UpdateItem& item, const kernel::SgdArguments& a, std::int64_t begin, std::int64_t end) {
  using W = WideT<T>;
  auto* p = static_cast<T*>(item.parameter);
  const auto* g = static_cast<const T*>(item.gradient);
  auto* m = static_cast<T*>(item.first);
  const W rate = static_cast<W>(a.rate);
  const W decay = static_cast<W>(a.decay);
  const W momentum = static_cast<W>(a.momentum);
  const W share = a.firstStep ? W(1) : static_cast<W>(1 - a.dampening);
  for (std::int64_t i = begin; i < end; ++i) {
    W step = static_cast<W>(g[i]) + decay * static_cast<W>(p[i]);
    if (m != nullptr) {
      const W held = (a.firstStep ? W(0) : momentum * static_cast<W>(m[i])) + share * step;
      m[i] = T(held);
      step = a.nesterov ? step + momentum * held : held;
    }
    p[i] = T(static_cast<W>(p[i]) - rate * step);
  }
}

template <class T>
void adamRange(const kernel::UpdateItem& item, const kernel::AdamArguments& a, std::int64_t begin, std::int64_t end) {
  using W = WideT<T>;
  auto* p = static_cast<T*>(item.parameter);
  const auto* g = static_cast<const T*>(item.gradient);
  auto* m = static_cast<T*>(item.first);
  auto* v = static_cast<T*>(item.second);
  const W b1 = static_cast<W>(a.beta1);
  const W b2 = static_cast<W>(a.beta2);
  const W rate = static_cast<W>(a.rate / a.correction1);
  const W root = static_cast<W>(1 / std::sqrt(a.correction2));
  const W shrink = a.decoupled ? static_cast<W>(1 - a.rate * a.decay) : W(1);
  const W decay = a.decoupled ? W(0) : static_cast<W>(a.decay);
  const W epsilon = static_cast<W>(a.epsilon);
  for (std::int64_t i = begin; i < end; ++i) {
    const W value = static_cast<W>(p[i]);
    const W gradient = static_cast<W>(g[i]) + decay * value;
    const W first = b1 * static_cast<W>(m[i]) + (1 - b1) * gradient;
    const W second = b2 * static_cast<W>(v[i]) + (1 - b2) * gradient * gradient;
    m[i] = T(first);
    v[i] = T(second);
    p[i] = T(value * shrink - rate * first / (std::sqrt(second) * root + epsilon));
  }
}

template <class Update>
void each(const kernel::UpdateItem* items, std::size_t count, const Update& update) {
  for (std::size_t i = 0; i < count; ++i) {
    parallelFor(items[i].count, cpu::kGrain,
                [&](std::int64_t begin, std::int64_t end) { update(items[i], begin, end); });
  }
}

}  // namespace

void kernel::sgd(const UpdateItem* items, std::size_t count, DType dtype, const SgdArguments& arguments) {
  cpu::dispatchFloating(dtype, [&](auto tag) {
    each(items, count, [&](const UpdateItem& item, std::int64_t begin, std::int64_t end) {
      sgdRange<decltype(tag)>(item, arguments, begin, end);
    });
  });
}

void kernel::adam(const UpdateItem* items, std::size_t count, DType dtype, const AdamArguments& arguments) {
  cpu::dispatchFloating(dtype, [&](auto tag) {
    each(items, count, [&](const UpdateItem& item, std::int64_t begin, std::int64_t end) {
      adamRange<decltype(tag)>(item, arguments, begin, end);
    });
  });
}

}  // namespace lacuna::rt
