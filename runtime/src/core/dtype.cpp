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

}  // namespace lacuna::rt
