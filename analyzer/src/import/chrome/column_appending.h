// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace lacuna::analyzer {

/// Room for `more` values, and for those to come, whose number follows from `share` of the file:
/// memory that nobody writes to costs nothing. Columns that grow by and by are copied again and
/// again.
template <class T>
void makeRoom(std::vector<T>& values, std::size_t more, double share) {
  const std::size_t needed = values.size() + more;
  if (needed <= values.capacity()) return;
  const double factor = std::clamp(1.1 / std::max(share, 1e-9), 1.25, 128.0);
  values.reserve(static_cast<std::size_t>(static_cast<double>(needed) * factor));
}

/// Appends all columns. change(value) may change each value of a class type, such as an id; numbers
/// are copied.
template <class Columns, class Change>
void appendColumns(Columns& to, const Columns& from, double share, Change&& change) {
  std::vector<const void*> sources;
  from.forEach([&](const auto& values) { sources.push_back(&values); });
  std::size_t at = 0;
  to.forEach([&]<class T>(std::vector<T>& values) {
    const auto& source = *static_cast<const std::vector<T>*>(sources[at++]);
    const std::size_t before = values.size();
    makeRoom(values, source.size(), share);
    values.insert(values.end(), source.begin(), source.end());
    if constexpr (std::is_class_v<T>) {
      for (std::size_t i = before; i < values.size(); ++i) change(values[i]);
    }
  });
}

}  // namespace lacuna::analyzer
