// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lacuna/analyzer/findings.h"

namespace lacuna::analyzer {

std::string_view textOf(GainLimit::Of of) {
  switch (of) {
    case GainLimit::Of::Pieces:
      return "pieces";
    case GainLimit::Of::Warming:
      return "warming";
    case GainLimit::Of::Step:
      return "step";
    case GainLimit::Of::Low:
      return "low";
    case GainLimit::Of::High:
      return "high";
    case GainLimit::Of::Gain:
      return "gain";
  }
  return "";
}

std::int64_t GainLimits::atLeast(GainLimit limit, std::int64_t ns, std::int64_t leastNs) {
  return add(limit, ns, leastNs, std::max(ns, leastNs));
}

std::int64_t GainLimits::atMost(GainLimit limit, std::int64_t ns, std::int64_t mostNs) {
  limit.isMost = true;
  return add(limit, ns, mostNs, std::min(ns, mostNs));
}

const GainLimit* GainLimits::decisive() const {
  const GainLimit* last = nullptr;
  for (const GainLimit& limit : limits_) {
    if (limit.of == GainLimit::Of::Step && limit.isHeld()) last = &limit;
  }
  return last;
}

std::int64_t GainLimits::add(GainLimit limit, std::int64_t ns, std::int64_t limitNs,
                             std::int64_t afterNs) {
  limit.beforeNs = ns;
  limit.limitNs = limitNs;
  limit.afterNs = afterNs;
  passed(limit);
  return afterNs;
}

}  // namespace lacuna::analyzer
