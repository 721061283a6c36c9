// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/lcn_table.h"

#include <cstring>
#include <utility>

namespace lacuna::analyzer {
namespace {

/// With a width that the compiler knows, a copy is one instruction and no call.
template <std::size_t Width>
void copyInOrder(const LcnBytes& from, const RowOrder& order, LcnBytes& to) {
  for (std::size_t i = 0; i < order.size(); ++i)
    std::memcpy(to.data() + i * Width, from.data() + order[i] * Width, Width);
}

}  // namespace

void permuteRows(LcnBytes& values, std::size_t width, const RowOrder& order) {
  if (order.empty()) return;
  LcnBytes sorted(values.size());
  switch (width) {
    case 1:
      copyInOrder<1>(values, order, sorted);
      break;
    case 2:
      copyInOrder<2>(values, order, sorted);
      break;
    case 4:
      copyInOrder<4>(values, order, sorted);
      break;
    default:
      copyInOrder<8>(values, order, sorted);
      break;
  }
  values = std::move(sorted);
}

}  // namespace lacuna::analyzer
