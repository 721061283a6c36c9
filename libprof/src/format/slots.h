// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "format/layout.h"
#include "format/transform.h"

namespace lacuna::prof::format {

/// The slot of each value of a column that groups or contexts go by.
inline void fillSlots(ColumnType type, const void* values, std::size_t rows, std::uint16_t* slots) {
  const auto fill = [&]<class T>(const T* typed) {
    for (std::size_t i = 0; i < rows; ++i)
      slots[i] = static_cast<std::uint16_t>(typed[i] & (kSlots - 1));
  };
  switch (widthOf(type)) {
    case 1:
      return fill(static_cast<const std::uint8_t*>(values));
    case 2:
      return fill(static_cast<const std::uint16_t*>(values));
    case 4:
      return fill(static_cast<const std::uint32_t*>(values));
    default:
      return fill(static_cast<const std::uint64_t*>(values));
  }
}

}  // namespace lacuna::prof::format
