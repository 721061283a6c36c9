// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/self_overhead.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <unordered_set>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;
using prof::TimeWindow;

/// Nanoseconds that the recorder says an event of a kind takes; 0 where it does not.
std::map<std::string, double> costsOf(const Store& store) {
  constexpr std::string_view kPrefix = "self.cost.";
  std::map<std::string, double> costs;
  for (std::uint64_t i = 0; i < store.rows<prof::Environment>(); ++i) {
    const auto row = store.row<prof::Environment>(i);
    const std::string_view key = store.text(row.key);
    if (!key.starts_with(kPrefix)) continue;
    costs[std::string(key.substr(kPrefix.size()))] = std::strtod(std::string(store.text(row.value)).c_str(), nullptr);
  }
  return costs;
}

bool inside(TimeWindow window, TimeNs at) {
  return at >= window.startNs && at < window.endNs;
}

/// CPU devices: what runs on their queues was told by the queue's thread as ranges.
std::unordered_set<prof::DeviceId> hostDevices(const Store& store) {
  std::unordered_set<prof::DeviceId> devices;
  for (std::uint64_t i = 0; i < store.rows<prof::Device>(); ++i) {
    const auto device = store.row<prof::Device>(i);
    if (device.kind == prof::DeviceKind::Cpu) devices.insert(device.id);
  }
  return devices;
}

prof::Status countRanges(const Store& store, TimeWindow window, std::uint64_t& count) {
  using prof::Kernel;
  using prof::Range;
  auto status = store.scan<&Range::startNs, &Range::thread>(window, [&](std::uint64_t, auto start, auto thread) {
    for (std::size_t i = 0; i < start.size(); ++i) count += thread[i] && inside(window, start[i]) ? 1 : 0;
  });
  const auto host = hostDevices(store);
  if (!status || host.empty()) return status;
  return store.scan<&Kernel::startNs, &Kernel::device>(window, [&](std::uint64_t, auto start, auto device) {
    for (std::size_t i = 0; i < start.size(); ++i)
      count += host.contains(device[i]) && inside(window, start[i]) ? 1 : 0;
  });
}

template <auto Time>
prof::Status countRows(const Store& store, TimeWindow window, std::uint64_t& count) {
  return store.scan<Time>(window, [&](std::uint64_t, auto time) {
    for (const TimeNs at : time) count += inside(window, at) ? 1 : 0;
  });
}

prof::Status addRecorded(const Store& store, TimeWindow window, std::int64_t steps, SelfOverhead& out) {
  using prof::Overhead;
  std::map<prof::StringId, std::pair<std::uint64_t, std::int64_t>> byName;
  const auto status = store.scan<&Overhead::startNs, &Overhead::durNs, &Overhead::name>(
      window, [&](std::uint64_t, auto start, auto dur, auto name) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (!inside(window, start[i])) continue;
          ++byName[name[i]].first;
          byName[name[i]].second += dur[i];
        }
      });
  for (const auto& [name, sum] : byName) {
    out.known = true;
    out.parts.push_back({std::string(store.text(name)), sum.first,
                         static_cast<double>(sum.second) / static_cast<double>(sum.first), sum.second / steps});
  }
  return status;
}

}  // namespace

prof::Result<SelfOverhead> selfOverhead(const Store& store, TimeWindow window, std::int64_t steps) {
  steps = std::max<std::int64_t>(1, steps);
  SelfOverhead out;
  const auto costs = costsOf(store);
  std::uint64_t ranges = 0, marks = 0;
  if (!costs.empty()) {
    using prof::Allocation;
    using prof::CounterSample;
    using prof::Mark;
    for (const prof::Status& status :
         {countRanges(store, window, ranges), countRows<&Mark::timeNs>(store, window, marks),
          countRows<&Allocation::timeNs>(store, window, marks),
          countRows<&CounterSample::timeNs>(store, window, marks)}) {
      if (!status) return status.error();
    }
  }
  for (const auto& [kind, each] : costs) {
    const std::uint64_t events = kind == "range" ? ranges : kind == "mark" ? marks : 0;
    if (events == 0 || each <= 0) continue;
    out.known = true;
    out.parts.push_back({kind, events, each, std::llround(each * static_cast<double>(events)) / steps});
  }
  if (auto status = addRecorded(store, window, steps, out); !status) return status.error();
  for (const OverheadPart& part : out.parts) out.nsPerStep += part.nsPerStep;
  std::sort(out.parts.begin(), out.parts.end(), [](const OverheadPart& a, const OverheadPart& b) {
    return a.nsPerStep != b.nsPerStep ? a.nsPerStep > b.nsPerStep : a.kind < b.kind;
  });
  return out;
}

}  // namespace lacuna::analyzer
