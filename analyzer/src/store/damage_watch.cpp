// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/damage_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/backend.h"

namespace lacuna::analyzer {

DamageWatch::DamageWatch(const Store& store)
    : store_(store), before_(store.warnings()), reads_(store.backend().damagedReads()) {}

prof::Status DamageWatch::status() const {
  if (store_.backend().damagedReads() == reads_) return {};
  constexpr std::size_t kNamed = 3;
  std::string what;
  std::size_t count = 0;
  for (const std::string& warning : store_.warnings()) {
    if (std::ranges::find(before_, warning) != before_.end() || ++count > kNamed) continue;
    what += (what.empty() ? "" : "; ") + warning;
  }
  if (count > kNamed) what += fmt::format("; and {} more", count - kNamed);
  if (what.empty()) what = "parts of it that were found damaged before";  // and named then
  return prof::Error{fmt::format(
      "{}: cannot be read in full: {}; lacuna recover makes a whole file of what is readable",
      store_.path().string(), what)};
}

}  // namespace lacuna::analyzer
