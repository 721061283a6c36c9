// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace lacuna::rt {

enum class DType : std::uint8_t { F32, F64, BF16, F16, I32, I64, U8, Bool };
inline constexpr int kDTypeCount = 8;

[[nodiscard]] constexpr std::size_t itemSize(DType type) {
  constexpr std::size_t kSizes[kDTypeCount] = {4, 8, 2, 2, 4, 8, 1, 1};
  return kSizes[static_cast<int>(type)];
}
[[nodiscard]] const char* name(DType type);  ///< "f32", "bf16", …
[[nodiscard]] bool isFloating(DType type);
[[nodiscard]] bool isInteger(DType type);  ///< integers and bool
/// The type of an operation between two tensors: the higher category wins (bool, integer,
/// floating), then the wider one; bf16 with f16 gives f32.
[[nodiscard]] DType promote(DType a, DType b);

/// bfloat16: storage and conversion, arithmetic happens in float.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    auto wide = std::bit_cast<std::uint32_t>(value);
    const bool nan = (wide & 0x7fffffffu) > 0x7f800000u;
    bits = nan ? static_cast<std::uint16_t>((wide >> 16) | 0x40u)
               : static_cast<std::uint16_t>((wide + 0x7fffu + ((wide >> 16) & 1u)) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// IEEE half: storage and conversion, arithmetic happens in float. Conversions choose between
/// results that are all computed, so that loops over them become vectors.
struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  /// The nearest half, the even one of two; what is beyond the largest becomes infinite.
  explicit Float16(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rest = wide & 0x7fffffffu;
    const std::uint32_t normal = (rest - (112u << 23) + 0xfffu + ((rest >> 13) & 1u)) >> 13;
    // Subnormal: in a sum with 0.5 the float unit rounds to steps of 2^-24.
    const std::uint32_t small =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5F) - 0x3f000000u;
    const std::uint32_t beyond = rest > 0x7f800000u ? 0x7e00u : 0x7c00u;  // NaN, or infinite
    const std::uint32_t finite = rest < 0x38800000u ? small : normal;
    bits = static_cast<std::uint16_t>(((wide >> 16) & 0x8000u) |
                                      (rest >= 0x477ff000u ? beyond : finite));
  }
  explicit operator float() const {
    const std::uint32_t rest = static_cast<std::uint32_t>(bits & 0x7fffu) << 13;
    const auto steps = static_cast<float>(static_cast<std::int32_t>(bits & 0x3ffu));
    const std::uint32_t small = std::bit_cast<std::uint32_t>(steps * 0x1p-24F);
    const std::uint32_t normal =
        rest + ((rest >= 31u << 23 ? 224u : 112u) << 23);  // 31: infinite and NaN
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    return std::bit_cast<float>(sign | (rest < 1u << 23 ? small : normal));
  }
};

/// True for the types of which arithmetic happens in f32.
[[nodiscard]] constexpr bool isShort(DType type) {
  return type == DType::BF16 || type == DType::F16;
}

template <class T>
struct DTypeOf;
#define LACUNA_RT_DTYPE_OF(type, tag)           \
  template <>                                   \
  struct DTypeOf<type> {                        \
    static constexpr DType kValue = DType::tag; \
  };
LACUNA_RT_DTYPE_OF(float, F32)
LACUNA_RT_DTYPE_OF(double, F64)
LACUNA_RT_DTYPE_OF(BFloat16, BF16)
LACUNA_RT_DTYPE_OF(Float16, F16)
LACUNA_RT_DTYPE_OF(std::int32_t, I32)
LACUNA_RT_DTYPE_OF(std::int64_t, I64)
LACUNA_RT_DTYPE_OF(std::uint8_t, U8)
LACUNA_RT_DTYPE_OF(bool, Bool)
#undef LACUNA_RT_DTYPE_OF

}  // namespace lacuna::rt
