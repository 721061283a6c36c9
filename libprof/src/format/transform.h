// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "format/layout.h"

/// The arithmetic of the column encodings, on unsigned numbers of the column's own width
/// (everything is modulo 2^width, so that any value survives). Each forward function has its
/// inverse beside it.
namespace lacuna::prof::format {

/// Groups and contexts are distinguished by the low bits of a value; a collision costs a worse
/// prediction, no more.
inline constexpr std::size_t kSlots = 4096;

template <class T>
constexpr T zigzag(T v) {
  using S = std::make_signed_t<T>;
  return static_cast<T>((v << 1) ^ static_cast<T>(static_cast<S>(v) >> (sizeof(T) * 8 - 1)));
}

template <class T>
constexpr T unzigzag(T v) {
  return static_cast<T>((v >> 1) ^ static_cast<T>(0 - (v & 1)));
}

/// The columns that a prediction uses; null where it uses none.
template <class T>
struct Links {
  const T* base = nullptr;
  const std::uint16_t* group = nullptr;
  const std::uint16_t* context = nullptr;
  std::uint8_t shift = 0;
};

/// Walks the rows with the predictor's state; `step(i, predicted)` answers the true value. The one
/// loop serves both directions, so they cannot drift apart.
template <Base kBase, bool kGrouped, bool kContext, class T, class Step>
void walk(std::size_t rows, const Links<T>& links, T reference, Step&& step) {
  using S = std::make_signed_t<T>;
  std::array<T, kGrouped ? kSlots : 1> last;
  last.fill(reference);
  std::array<T, kContext ? kSlots : 1> mean{};
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t group = kGrouped ? links.group[i] : 0;
    T expected = kBase == Base::Column ? links.base[i] : last[group];
    if constexpr (kContext) {
      T& bias = mean[links.context[i]];
      const T value = step(i, static_cast<T>(expected + bias));
      const T residual = static_cast<T>(value - expected - bias);
      bias = static_cast<T>(bias + static_cast<T>(static_cast<S>(residual) >> links.shift));
      expected = value;
    } else {
      expected = step(i, expected);
    }
    if constexpr (kBase == Base::Previous) last[group] = expected;
    if constexpr (kBase == Base::PreviousEnd)
      last[group] = static_cast<T>(expected + links.base[i]);
  }
}

template <Base kBase, class T, class Step>
void walkBase(std::size_t rows, const Links<T>& links, T reference, Step&& step) {
  constexpr bool kMayGroup = kBase == Base::Previous || kBase == Base::PreviousEnd;
  if (links.context != nullptr) {
    if (kMayGroup && links.group != nullptr)
      return walk<kBase, kMayGroup, true>(rows, links, reference, step);
    return walk<kBase, false, true>(rows, links, reference, step);
  }
  if (kMayGroup && links.group != nullptr)
    return walk<kBase, kMayGroup, false>(rows, links, reference, step);
  walk<kBase, false, false>(rows, links, reference, step);
}

template <class T, class Step>
void walkRows(Base base, std::size_t rows, const Links<T>& links, T reference, Step&& step) {
  switch (base) {
    case Base::None:
      return walkBase<Base::None>(rows, links, reference, step);
    case Base::Previous:
      return walkBase<Base::Previous>(rows, links, reference, step);
    case Base::PreviousEnd:
      return walkBase<Base::PreviousEnd>(rows, links, reference, step);
    case Base::Column:
      return walkBase<Base::Column>(rows, links, reference, step);
  }
}

/// residual[i] = values[i] - prediction.
template <class T>
void predict(Base base, std::size_t rows, const Links<T>& links, T reference, const T* values,
             T* residual) {
  walkRows<T>(base, rows, links, reference, [=](std::size_t i, T expected) {
    residual[i] = static_cast<T>(values[i] - expected);
    return values[i];
  });
}

/// In place: residuals become values.
template <class T>
void unpredict(Base base, std::size_t rows, const Links<T>& links, T reference, T* values) {
  walkRows<T>(base, rows, links, reference, [=](std::size_t i, T expected) {
    return values[i] = static_cast<T>(values[i] + expected);
  });
}

/// Byte p of (values[i] >> shift), for every row, as plane p.
template <class T>
void splitPlane(const T* values, std::size_t rows, unsigned bit, std::byte* plane) {
  for (std::size_t i = 0; i < rows; ++i) plane[i] = static_cast<std::byte>(values[i] >> bit);
}

template <class T>
void joinPlane(const std::byte* plane, std::size_t rows, unsigned bit, bool first, T* values) {
  if (first) {
    for (std::size_t i = 0; i < rows; ++i)
      values[i] = static_cast<T>(static_cast<T>(plane[i]) << bit);
  } else {
    for (std::size_t i = 0; i < rows; ++i)
      values[i] |= static_cast<T>(static_cast<T>(plane[i]) << bit);
  }
}

}  // namespace lacuna::prof::format
