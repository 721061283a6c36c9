// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backend/cpu/loops.h"

namespace lacuna::rt {

using cpu::WideT;

namespace {

/// Philox 4x32-10 (Salmon et al., 2011): four words from a key and a counter.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t draw, std::uint64_t index) {
  std::array<std::uint32_t, 4> c{
      static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
      static_cast<std::uint32_t>(draw), static_cast<std::uint32_t>(draw >> 32)};
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

double unit(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

template <class Make>
void generate(const View& out, const Make& make) {
  cpu::dispatch(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    auto* to = static_cast<T*>(out.data);
    parallelFor(out.shape.numel(), 1024, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        to[i] = T(cpu::converted<WideT<T>>(make(static_cast<std::uint64_t>(i))));
      }
    });
  });
}

/// The next smaller number of the type.
template <class T>
T before(T number) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::nextafter(number, -std::numeric_limits<T>::infinity());
  } else {
    const bool zero = (number.bits & 0x7fffU) == 0;
    const bool negative = (number.bits & 0x8000U) != 0;
    number.bits = static_cast<std::uint16_t>(zero       ? 0x8001U
                                             : negative ? number.bits + 1U
                                                        : number.bits - 1U);
    return number;
  }
}

/// The largest number of the type in [low, high); where there is none, what low is in that type.
double largestWithin(DType type, double low, double high) {
  double largest = high;
  if (!isFloating(type)) return largest;
  cpu::dispatchFloating(type, [&](auto tag) {
    using T = decltype(tag);
    const auto wide = [](T number) { return static_cast<double>(static_cast<WideT<T>>(number)); };
    T end = T(static_cast<WideT<T>>(high));
    if (wide(end) >= high) end = before(end);
    largest = std::max(wide(end), wide(T(static_cast<WideT<T>>(low))));
  });
  return largest;
}

}  // namespace

void kernel::uniform(const View& out, RandomState state, double low, double high) {
  // As many bits as the type has near 1, or rounding would reach the excluded upper end too often;
  // it can elsewhere.
  const int bits = out.dtype == DType::BF16 ? 8 : out.dtype == DType::F16 ? 11 : 24;
  const double step = std::ldexp(1.0, -bits);
  const bool narrow = out.dtype != DType::F64;
  const double most = largestWithin(out.dtype, low, high);
  generate(out, [&](std::uint64_t i) {
    const auto words = philox(state.seed, state.draws, i);
    const double u =
        narrow ? static_cast<double>(words[0] >> (32 - bits)) * step : unit(words[0], words[1]);
    return std::min(low + (high - low) * u, most);
  });
}

void kernel::normal(const View& out, RandomState state, double mean, double deviation) {
  generate(out, [&](std::uint64_t i) {
    const auto words = philox(state.seed, state.draws, i);
    const double radius = std::sqrt(-2 * std::log(1 - unit(words[0], words[1])));
    return mean + deviation * radius * std::cos(6.283185307179586 * unit(words[2], words[3]));
  });
}

void kernel::randint(const View& out, RandomState state, std::int64_t low, std::int64_t high) {
  const auto first = static_cast<std::uint64_t>(low);
  const std::uint64_t span =
      static_cast<std::uint64_t>(high) - first;  // signed numbers may be further apart
  generate(out, [&](std::uint64_t i) {
    const auto words = philox(state.seed, state.draws, i);
    return static_cast<std::int64_t>(first + (std::uint64_t{words[0]} << 32 | words[1]) % span);
  });
}

}  // namespace lacuna::rt
