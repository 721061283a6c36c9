// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <memory>

#include "lacuna/analyzer/store.h"
#include "lacuna/prof/reader.h"

namespace lacuna::test {

inline constexpr prof::TimeWindow kHundred{0, 100};

/// Names 1, 2, … of a timeline.
inline std::shared_ptr<const analyzer::Store> named(std::initializer_list<const char*> names) {
  analyzer::StoreBuilder builder;
  for (const char* name : names) (void)builder.intern(name);
  return builder.build();
}

}  // namespace lacuna::test
