// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/trace_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "formats/json_text.h"
#include "store/table_sort.h"

namespace lacuna::analyzer {
namespace {

template <class Row>
auto nextId(StoreBuilder& builder) {
  return decltype(Row::id)(static_cast<std::uint32_t>(builder.columns<Row>().id.size()) + 1);
}

/// The last moment of any row, rows without an end counted by their start.
prof::TimeNs lastMoment(StoreBuilder& builder) {
  prof::TimeNs last = INT64_MIN;
  prof::forEachTable([&]<class Row>() {
    const auto& columns = builder.columns<Row>();
    if constexpr (requires { columns.durNs; }) {
      for (std::size_t i = 0; i < columns.startNs.size(); ++i) {
        last = std::max(last, columns.startNs[i] + std::max<prof::TimeNs>(columns.durNs[i], 0));
      }
    } else if constexpr (requires { columns.timeNs; } && !std::is_same_v<Row, prof::Clock>) {
      for (const prof::TimeNs time : columns.timeNs) last = std::max(last, time);
    }
  });
  return last;
}

void boundMoments(StoreBuilder& builder) {
  std::uint64_t far = 0;
  const auto bound = [&](prof::TimeNs& time) {
    const prof::TimeNs kept = std::clamp(time, -json::kFarthestNs, json::kFarthestNs);
    far += kept != time ? 1 : 0;
    time = kept;
  };
  prof::forEachTable([&]<class Row>() {
    auto& columns = builder.columns<Row>();
    if constexpr (requires { columns.startNs; }) std::ranges::for_each(columns.startNs, bound);
    if constexpr (requires { columns.endNs; }) std::ranges::for_each(columns.endNs, bound);
    if constexpr (requires { columns.durNs; }) std::ranges::for_each(columns.durNs, bound);
    if constexpr (requires { columns.timeNs; }) std::ranges::for_each(columns.timeNs, bound);
  });
  if (far > 0) {
    builder.addWarning(fmt::format(
        "{} times and lengths are beyond 73 years, and were brought back to that", far));
  }
}

}  // namespace

prof::ProcessId TracePlaces::process(std::uint64_t key, std::uint32_t osPid) {
  const auto [at, isNew] = processes_.try_emplace(key, nextId<prof::Process>(builder_));
  if (isNew) {
    prof::Process row;
    row.id = at->second;
    row.osPid = osPid;
    row.exitCode = -1;
    row.rank = -1;
    builder_.append(row);
  }
  return at->second;
}

prof::ThreadId TracePlaces::thread(std::uint64_t key, prof::ProcessId process,
                                   std::uint32_t osTid) {
  const auto [at, isNew] = threads_.try_emplace(key, nextId<prof::Thread>(builder_));
  if (isNew) {
    prof::Thread row;
    row.id = at->second;
    row.process = process;
    row.osTid = osTid;
    builder_.append(row);
  }
  return at->second;
}

prof::DeviceId TracePlaces::device(prof::DeviceKind kind, std::uint64_t key, std::uint32_t index) {
  const auto [at, isNew] = devices_.try_emplace({kind, key}, nextId<prof::Device>(builder_));
  if (isNew) {
    prof::Device row;
    row.id = at->second;
    row.kind = kind;
    row.index = index;
    builder_.append(row);
  }
  return at->second;
}

prof::QueueId TracePlaces::queue(prof::DeviceId device, prof::ProcessId process, std::uint64_t key,
                                 std::uint64_t nativeId) {
  const auto [at, isNew] =
      queues_.try_emplace({device, process, key}, nextId<prof::Queue>(builder_));
  if (isNew) builder_.append(prof::Queue{at->second, device, process, nativeId, {}});
  return at->second;
}

prof::TrackId TracePlaces::track(const prof::CounterTrack& like) {
  const auto [at, isNew] =
      tracks_.try_emplace({like.process, like.thread, like.device, like.name, like.unit},
                          nextId<prof::CounterTrack>(builder_));
  if (isNew) {
    prof::CounterTrack row = like;
    row.id = at->second;
    builder_.append(row);
  }
  return at->second;
}

void renumberIds(StoreBuilder& builder) {
  std::map<prof::Refers, std::unordered_map<std::uint32_t, std::uint32_t>> numbers;
  prof::forEachTable([&]<class Row>() {
    if constexpr (requires(Row row) { row.id.value; }) {
      auto& ids = builder.columns<Row>().id;
      auto sorted = ids;
      std::ranges::sort(sorted);
      bool isDense = true;
      for (std::size_t i = 0; i < sorted.size(); ++i) isDense &= sorted[i].value == i + 1;
      auto& known = numbers[prof::detail::refersOf<decltype(Row::id)>()];
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::uint32_t number = isDense ? ids[i].value : static_cast<std::uint32_t>(i) + 1;
        known.try_emplace(ids[i].value, number);
        ids[i].value = number;
      }
    }
  });
  prof::forEachTable([&]<class Row>() {
    auto& columns = builder.columns<Row>();
    std::size_t at = 0;
    columns.forEach([&]<class T>(std::vector<T>& values) {
      const prof::ColumnSpec& spec = prof::tableSpec<Row>().columns[at++];
      const auto known = numbers.find(spec.refers);
      if (known == numbers.end() || spec.name == "id") return;
      if constexpr (std::is_class_v<T>) {
        for (T& value : values) {
          const auto found = known->second.find(value.value);
          value.value = found == known->second.end() ? 0 : found->second;
        }
      }
    });
  });
}

void nestRanges(StoreBuilder& builder) {
  auto& ranges = builder.columns<prof::Range>();
  sortByTime<prof::Range>(ranges);
  std::map<std::tuple<prof::ThreadId, prof::QueueId, prof::StringId>, std::vector<prof::TimeNs>>
      open;
  for (std::size_t i = 0; i < ranges.startNs.size(); ++i) {
    if (ranges.kind[i] != prof::RangeKind::PushPop) continue;
    auto& stack = open[{ranges.thread[i], ranges.queue[i], ranges.domain[i]}];
    while (!stack.empty() && stack.back() <= ranges.startNs[i]) stack.pop_back();
    ranges.depth[i] = static_cast<std::uint16_t>(std::min<std::size_t>(stack.size(), UINT16_MAX));
    stack.push_back(ranges.startNs[i] + ranges.durNs[i]);
  }
}

void spanPlaces(StoreBuilder& builder) {
  auto& threads = builder.columns<prof::Thread>();
  auto& processes = builder.columns<prof::Process>();
  std::ranges::fill(threads.startNs, INT64_MAX);
  std::ranges::fill(threads.endNs, INT64_MIN);
  const auto see = [&](prof::ThreadId thread, prof::TimeNs startNs, prof::TimeNs endNs) {
    if (!thread || thread.value > threads.id.size()) return;
    threads.startNs[thread.value - 1] = std::min(threads.startNs[thread.value - 1], startNs);
    threads.endNs[thread.value - 1] = std::max(threads.endNs[thread.value - 1], endNs);
  };
  prof::forEachTable([&]<class Row>() {
    const auto& columns = builder.columns<Row>();
    if constexpr (requires {
                    columns.thread;
                    columns.durNs;
                  }) {
      for (std::size_t i = 0; i < columns.thread.size(); ++i) {
        see(columns.thread[i], columns.startNs[i], columns.startNs[i] + columns.durNs[i]);
      }
    } else if constexpr (requires {
                           columns.thread;
                           columns.timeNs;
                         }) {
      for (std::size_t i = 0; i < columns.thread.size(); ++i) {
        see(columns.thread[i], columns.timeNs[i], columns.timeNs[i]);
      }
    }
  });
  const prof::TimeNs first = threads.startNs.empty() ? 0 : std::ranges::min(threads.startNs);
  const prof::TimeNs quiet = first == INT64_MAX ? 0 : first;
  std::ranges::fill(processes.startNs, INT64_MAX);
  std::ranges::fill(processes.endNs, INT64_MIN);
  for (std::size_t i = 0; i < threads.id.size(); ++i) {
    if (threads.startNs[i] > threads.endNs[i]) threads.startNs[i] = threads.endNs[i] = quiet;
    const std::size_t process = threads.process[i].value;
    if (process == 0 || process > processes.id.size()) continue;
    processes.startNs[process - 1] = std::min(processes.startNs[process - 1], threads.startNs[i]);
    processes.endNs[process - 1] = std::max(processes.endNs[process - 1], threads.endNs[i]);
  }
  for (std::size_t i = 0; i < processes.id.size(); ++i) {
    if (processes.startNs[i] > processes.endNs[i])
      processes.startNs[i] = processes.endNs[i] = quiet;
  }
}

void closeUnfinished(StoreBuilder& builder) {
  boundMoments(builder);
  const prof::TimeNs last = lastMoment(builder);
  prof::forEachTable([&]<class Row>() {
    auto& columns = builder.columns<Row>();
    if constexpr (requires { columns.durNs; }) {
      for (std::size_t i = 0; i < columns.durNs.size(); ++i) {
        if (columns.durNs[i] < 0) columns.durNs[i] = last - columns.startNs[i];
      }
    }
  });
}

}  // namespace lacuna::analyzer
