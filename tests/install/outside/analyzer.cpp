// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "lacuna/analyzer/store.h"

int main() {
  lacuna::analyzer::StoreBuilder builder;
  lacuna::prof::Range range;
  range.startNs = 10;
  range.durNs = 5;
  range.name = builder.intern("forward");
  builder.append(range);
  const auto store = builder.build();
  const bool same = store->text(store->row<lacuna::prof::Range>(0).name) == "forward";
  std::printf("a store of %zu range ends at %lld ns\n",
              static_cast<std::size_t>(store->rows<lacuna::prof::Range>()),
              static_cast<long long>(store->span().endNs));
  return same && store->span().endNs == 15 ? 0 : 1;
}
