// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "backend/cpu/loops.h"

/// Optimizer updates: one pass over each parameter with its state, many parameters in one
/// execution.
namespace lacuna::rt {

using cpu::WideT;

namespace {

/// Elements of a parameter with a master that are updated at a time, while they are in the cache.
constexpr std::int64_t kStretch = 4096;

template <class To, class From>
LACUNA_RT_EVERY_WIDTH void convertRow(To* to, const From* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = To(static_cast<WideT<From>>(from[i]));
}

template <class T>
LACUNA_RT_EVERY_WIDTH void takeWritten(float* master, const T* held, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    master[i] = T(master[i]).bits == held[i].bits ? master[i] : static_cast<float>(held[i]);
}

/// Calls f(T{}) for one of the 16-bit types.
template <class F>
void dispatchShort(DType type, const F& f) {
  type == DType::BF16 ? f(BFloat16{}) : f(Float16{});
}

void* advanced(void* data, std::int64_t count, DType type) {
  return data == nullptr
             ? nullptr
             : static_cast<std::byte*>(data) + count * static_cast<std::int64_t>(itemSize(type));
}

/// Elements from `at` on of an item with a master, which is up to date; their gradient in f32,
/// where need be in `room`.
kernel::UpdateItem stretchOf(const kernel::UpdateItem& item, std::int64_t at, std::int64_t count,
                             float* room) {
  kernel::UpdateItem part = item;
  part.count = count;
  part.parameter = advanced(item.parameter, at, DType::F32);
  part.first = advanced(item.first, at, DType::F32);
  part.second = advanced(item.second, at, DType::F32);
  part.held = advanced(item.held, at, item.heldType);
  const void* gradient = static_cast<const std::byte*>(item.gradient) +
                         at * static_cast<std::int64_t>(itemSize(item.gradientType));
  part.gradient = gradient;
  dispatchShort(item.heldType, [&](auto tag) {
    using T = decltype(tag);
    takeWritten(static_cast<float*>(part.parameter), static_cast<const T*>(part.held), count);
    if (item.gradientType == DType::F32) return;
    convertRow(room, static_cast<const T*>(gradient), count);
    part.gradient = room;
  });
  return part;
}

/// Rounds the masters' values to where the program has them.
void narrow(const kernel::UpdateItem& item, std::int64_t at, std::int64_t count) {
  dispatchShort(item.heldType, [&](auto tag) {
    using T = decltype(tag);
    convertRow(static_cast<T*>(item.held) + at, static_cast<const float*>(item.parameter) + at,
               count);
  });
}

/// Calls update(part) for stretches of an item with a master.
template <class Update>
void forStretches(const kernel::UpdateItem& item, std::int64_t begin, std::int64_t end,
                  const Update& update) {
  std::array<float, kStretch> room;
  for (std::int64_t at = begin; at < end; at += kStretch)
    update(stretchOf(item, at, std::min(kStretch, end - at), room.data()));
}

template <class T>
LACUNA_RT_EVERY_WIDTH void sgdRange(const kernel::UpdateItem& item, const kernel::SgdArguments& a,
                                    std::int64_t begin, std::int64_t end) {
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

/// A second moment as it is kept. One that is too small for f16 stays above zero: steps are divided
/// by its root.
template <class T>
T keptSquare(WideT<T> moment) {
  T kept = T(moment);
  if constexpr (std::is_same_v<T, Float16>) {
    if (kept.bits == 0 && moment > 0) kept.bits = 1;
  }
  return kept;
}

template <class T>
LACUNA_RT_EVERY_WIDTH void adamRange(const kernel::UpdateItem& item, const kernel::AdamArguments& a,
                                     std::int64_t begin, std::int64_t end) {
  using W = WideT<T>;
  auto* p = static_cast<T*>(item.parameter);
  const auto* g = static_cast<const T*>(item.gradient);
  auto* m = static_cast<T*>(item.first);
  auto* v = static_cast<T*>(item.second);
  const W b1 = static_cast<W>(a.beta1);
  const W b2 = static_cast<W>(a.beta2);
  const W rate = static_cast<W>(a.rate / item.correction1);
  const W root = static_cast<W>(1 / std::sqrt(item.correction2));
  const W shrink = a.decoupled ? static_cast<W>(1 - a.rate * a.decay) : W(1);
  const W decay = a.decoupled ? W(0) : static_cast<W>(a.decay);
  const W epsilon = static_cast<W>(a.epsilon);
  for (std::int64_t i = begin; i < end; ++i) {
    const W value = static_cast<W>(p[i]);
    const W gradient = static_cast<W>(g[i]) + decay * value;
    const W first = b1 * static_cast<W>(m[i]) + (1 - b1) * gradient;
    const W second = b2 * static_cast<W>(v[i]) + (1 - b2) * gradient * gradient;
    m[i] = T(first);
    v[i] = keptSquare<T>(second);
    p[i] = T(value * shrink - rate * first / (std::sqrt(second) * root + epsilon));
  }
}

template <class T>
struct LambTerms {
  using W = WideT<T>;
  T* p;
  const T* g;
  T *m, *v;
  W b1, b2, share, root, decay, epsilon;

  LambTerms(const kernel::UpdateItem& item, const kernel::AdamArguments& a)
      : p(static_cast<T*>(item.parameter)),
        g(static_cast<const T*>(item.gradient)),
        m(static_cast<T*>(item.first)),
        v(static_cast<T*>(item.second)),
        b1(static_cast<W>(a.beta1)),
        b2(static_cast<W>(a.beta2)),
        share(static_cast<W>(1 / item.correction1)),
        root(static_cast<W>(1 / std::sqrt(item.correction2))),
        decay(static_cast<W>(a.decay)),
        epsilon(static_cast<W>(a.epsilon)) {}

  [[nodiscard]] W direction(std::int64_t i) const {
    const W second = std::sqrt(static_cast<W>(v[i])) * root;
    return static_cast<W>(m[i]) * share / (second + epsilon) + decay * static_cast<W>(p[i]);
  }
};

template <class T>
LACUNA_RT_EVERY_WIDTH void lambMoments(LambTerms<T> t, std::int64_t begin, std::int64_t end) {
  using W = WideT<T>;
  for (std::int64_t i = begin; i < end; ++i) {
    const W gradient = static_cast<W>(t.g[i]);
    t.m[i] = T(t.b1 * static_cast<W>(t.m[i]) + (1 - t.b1) * gradient);
    t.v[i] = keptSquare<T>(t.b2 * static_cast<W>(t.v[i]) + (1 - t.b2) * gradient * gradient);
  }
}

/// The squares of parameter and direction, summed up.
template <class T>
LACUNA_RT_EVERY_WIDTH std::array<double, 2> lambSquares(LambTerms<T> t, std::int64_t begin,
                                                        std::int64_t end) {
  using W = WideT<T>;
  const auto squares = [begin, end](const auto& term) {
    return cpu::sumLanes<double>(end - begin, [begin, term](std::int64_t i) {
      const auto value = static_cast<double>(term(begin + i));
      return value * value;
    });
  };
  return {squares([t](std::int64_t i) { return static_cast<W>(t.p[i]); }),
          squares([t](std::int64_t i) { return t.direction(i); })};
}

template <class T>
LACUNA_RT_EVERY_WIDTH void lambStep(LambTerms<T> t, WideT<T> step, std::int64_t begin,
                                    std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i)
    t.p[i] = T(static_cast<WideT<T>>(t.p[i]) - step * t.direction(i));
}

/// LAMB needs the whole direction's norm before it can take the first step along it. The direction
/// is made twice rather than kept; pieces of a fixed size make the norms the same for every number
/// of threads.
template <class T>
class LambUpdate {
 public:
  using W = WideT<T>;
  LambUpdate(const kernel::UpdateItem& item, const kernel::AdamArguments& a)
      : item_(item), arguments_(a), count_(item.count), terms_(item, a) {}

  void run(double rate) {
    const std::int64_t size = (count_ + kPieces - 1) / kPieces;
    parallelFor(kPieces, std::max<std::int64_t>(1, cpu::kGrain / std::max<std::int64_t>(size, 1)),
                [&](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t i = begin; i < end; ++i)
                    norms_[static_cast<std::size_t>(i)] =
                        piece(i * size, std::min(count_, (i + 1) * size));
                });
    std::array<double, 2> squares{};
    for (const auto& piece : norms_) {
      squares[0] += piece[0];
      squares[1] += piece[1];
    }
    const double ratio = squares[0] > 0 && squares[1] > 0 ? std::sqrt(squares[0] / squares[1]) : 1;
    const W step = static_cast<W>(rate * ratio);
    parallelFor(count_, cpu::kGrain, [&](std::int64_t begin, std::int64_t end) {
      lambStep(terms_, step, begin, end);
      if (item_.held != nullptr) narrow(item_, begin, end - begin);
    });
  }

 private:
  static constexpr std::int64_t kPieces = 64;

  std::array<double, 2> piece(std::int64_t begin, std::int64_t end) const {
    if (begin >= end) return {};
    if (item_.held == nullptr) {
      lambMoments(terms_, begin, end);
    } else {
      forStretches(item_, begin, end, [this](const kernel::UpdateItem& part) {
        lambMoments(LambTerms<T>(part, arguments_), 0, part.count);
      });
    }
    return lambSquares(terms_, begin, end);
  }

  const kernel::UpdateItem& item_;
  const kernel::AdamArguments& arguments_;
  std::int64_t count_;
  LambTerms<T> terms_;
  std::array<std::array<double, 2>, kPieces> norms_{};
};

template <class Update>
void each(const kernel::UpdateItem* items, std::size_t count, const Update& update) {
  for (std::size_t i = 0; i < count; ++i) {
    parallelFor(items[i].count, cpu::kGrain, [&](std::int64_t begin, std::int64_t end) {
      if (items[i].held == nullptr) return update(items[i], begin, end);
      forStretches(items[i], begin, end, [&](const kernel::UpdateItem& part) {
        update(part, 0, part.count);
        narrow(part, 0, part.count);
      });
    });
  }
}

}  // namespace

void kernel::sgd(const UpdateItem* items, std::size_t count, DType dtype,
                 const SgdArguments& arguments) {
  cpu::dispatchFloating(dtype, [&](auto tag) {
    each(items, count, [&](const UpdateItem& item, std::int64_t begin, std::int64_t end) {
      sgdRange<decltype(tag)>(item, arguments, begin, end);
    });
  });
}

void kernel::adam(const UpdateItem* items, std::size_t count, DType dtype,
                  const AdamArguments& arguments) {
  cpu::dispatchFloating(dtype, [&](auto tag) {
    each(items, count, [&](const UpdateItem& item, std::int64_t begin, std::int64_t end) {
      adamRange<decltype(tag)>(item, arguments, begin, end);
    });
  });
}

void kernel::lamb(const UpdateItem* items, std::size_t count, DType dtype,
                  const AdamArguments& arguments) {
  cpu::dispatchFloating(dtype, [&](auto tag) {
    for (std::size_t i = 0; i < count; ++i)
      LambUpdate<decltype(tag)>(items[i], arguments).run(arguments.rate);
  });
}

}  // namespace lacuna::rt
