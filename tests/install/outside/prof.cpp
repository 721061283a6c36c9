// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "lacuna/prof/events.h"
#include "lacuna/prof/result.h"

int main() {
  const auto& spec = lacuna::prof::tableSpec<lacuna::prof::Range>();
  std::printf("table %.*s has %zu columns\n", static_cast<int>(spec.name.size()), spec.name.data(), spec.columnCount);
  return spec.columnCount > 3 ? 0 : 1;
}
