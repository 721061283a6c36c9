// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <iostream>

#include "workloads.h"

namespace bench {

int serve(const Workloads& workloads, const Values& values) {
  std::map<std::string, Workload> made;
  std::string name;
  int count = 0;
  while (std::cin >> name >> count) {
    if (const auto value = values.find(name); value != values.end()) {
      std::printf("%.17g\n", value->second());
      std::fflush(stdout);
      continue;
    }
    if (!made.contains(name)) {
      const auto found = workloads.find(name);
      if (found == workloads.end()) {
        std::fprintf(stderr, "no workload '%s'\n", name.c_str());
        return 2;
      }
      made[name] = found->second();
    }
    const auto start = std::chrono::steady_clock::now();
    made[name](count);
    const auto took = std::chrono::steady_clock::now() - start;
    std::printf("%lld\n", static_cast<long long>(
                              std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace bench
