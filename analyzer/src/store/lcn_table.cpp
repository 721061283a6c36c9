// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/lcn_table.h"

#include <cstring>
#include <utility>

namespace lacuna::analyzer {

void permuteRows(LcnBytes& values, std::size_t width, const RowOrder& order) {
  if (order.empty()) return;
  LcnBytes sorted(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::memcpy(sorted.data() + i * width, values.data() + order[i] * width, width);
  }
  values = std::move(sorted);
}

}  // namespace lacuna::analyzer
