// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/dtype.h"

#include <array>
#include <utility>

namespace lacuna::rt {

namespace {
struct Facts {
  std::size_t size;
  const char* name;
  int category;  // 0 bool, 1 integer, 2 floating
};
constexpr std::array<Facts, kDTypeCount> kFacts{{{4, "f32", 2},
                                                 {8, "f64", 2},
                                                 {2, "bf16", 2},
                                                 {2, "f16", 2},
                                                 {4, "i32", 1},
                                                 {8, "i64", 1},
                                                 {1, "u8", 1},
                                                 {1, "bool", 0}}};
const Facts& facts(DType type) {
  return kFacts[static_cast<std::size_t>(type)];
}
}  // namespace

const char* name(DType type) {
  return facts(type).name;
}
bool isFloating(DType type) {
  return facts(type).category == 2;
}
bool isInteger(DType type) {
  return facts(type).category < 2;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const Facts& left = facts(a);
  const Facts& right = facts(b);
  if (left.category != right.category) return left.category > right.category ? a : b;
  if (left.size != right.size) return left.size > right.size ? a : b;
  return DType::F32;  // bf16 with f16
}

Float16::Float16(float value) {
  const auto wide = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (wide >> 16) & 0x8000u;
  const std::uint32_t rest = wide & 0x7fffffffu;
  if (rest >= 0x7f800000u) {  // infinity and NaN
    bits = static_cast<std::uint16_t>(sign | 0x7c00u | (rest > 0x7f800000u ? 0x200u : 0u));
  } else if (rest >= 0x477ff000u) {  // rounds beyond the largest half
    bits = static_cast<std::uint16_t>(sign | 0x7c00u);
  } else if (rest >= 0x38800000u) {
    bits = static_cast<std::uint16_t>(sign | ((rest - 0x38000000u + 0xfffu + ((rest >> 13) & 1u)) >> 13));
  } else {  // subnormal: adding one half's smallest step × 2^24 lets the float unit round
    const float scaled = std::bit_cast<float>(rest) + 0.5F;
    bits = static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(scaled) - 0x3f000000u));
  }
}

Float16::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
  return sign != 0 ? -magnitude : magnitude;
}

}  // namespace lacuna::rt
