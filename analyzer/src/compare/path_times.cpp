// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "compare/path_times.h"

#include <algorithm>
#include <tuple>

#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {

std::vector<std::int64_t> PathTimes::byStep(std::size_t count) const {
  std::vector<std::int64_t> values(count);
  for (const StepTime& time : steps) values[time.step] = time.ns;
  return values;
}

void PathTimeSums::add(StepTime time) {
  times_.push_back(time);
  if (times_.size() < compactAt_) return;
  compact();
  compactAt_ = std::max(compactAt_, 2 * times_.size());
}

void PathTimeSums::addDevice(StepTime time) {
  add(time);
  prof::addTo(deviceNs_[time.path], time.ns);
}

void PathTimeSums::compact() {
  std::ranges::sort(times_, {},
                    [](const StepTime& time) { return std::tuple(time.path, time.step); });
  std::size_t kept = 0;
  for (const StepTime& time : times_) {
    if (kept > 0 && times_[kept - 1].path == time.path && times_[kept - 1].step == time.step) {
      prof::addTo(times_[kept - 1].ns, time.ns);
    } else {
      times_[kept++] = time;
    }
  }
  times_.resize(kept);
}

std::vector<PathTimes> PathTimeSums::byPath() {
  compact();
  std::vector<PathTimes> out;
  for (std::size_t from = 0, to = 0; from < times_.size(); from = to) {
    const PathTree::Path path = times_[from].path;
    while (to < times_.size() && times_[to].path == path) ++to;
    const auto device = deviceNs_.find(path);
    out.push_back({path, std::span(times_).subspan(from, to - from),
                   device == deviceNs_.end() ? 0 : device->second});
  }
  return out;
}

}  // namespace lacuna::analyzer
