// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyses/loader/loader.h"
#include "lacuna/prof/bounds.h"
#include "whatif/changes/registry.h"
#include "whatif/model.h"

namespace lacuna::analyzer {
namespace {

using prof::Range;
using prof::TimeNs;

/// One batch in so many is handed over as quickly as an idle worker can.
constexpr std::size_t kQuickestBatches = 10;

struct Batches {
  std::vector<std::int64_t> preparedNs;  ///< what each took on its worker
  std::vector<std::int64_t> handedNs;    ///< from there to the consumer
};

/// One batch on one thread: its stages follow one another there. Numbers begin again with each
/// epoch, so that of epochs of one batch all have the same.
struct BatchTime {
  std::uint64_t number = 0;
  TimeNs startNs = 0;
  TimeNs endNs = 0;
};

class BatchTimes {
 public:
  void prepare(prof::ThreadId thread, std::uint64_t number, TimeNs start, TimeNs end) {
    BatchTime& current =
        current_.try_emplace(thread, BatchTime{number, start, start}).first->second;
    if (current.number != number) {
      finish(current);
      current = {number, start, end};
    }
    current.endNs = std::max(current.endNs, end);
  }
  /// The thread waits for its next batch, or for room for the last one.
  void pause(prof::ThreadId thread) {
    const auto current = current_.find(thread);
    if (current == current_.end()) return;
    finish(current->second);
    current_.erase(current);
  }
  void take(std::uint64_t number, TimeNs from, TimeNs to) { taken_.push_back({number, from, to}); }
  Batches all() {
    for (auto& [thread, batch] : current_) finish(batch);
    for (auto& [number, ends] : ends_) std::sort(ends.begin(), ends.end());
    for (const auto& [number, startNs, endNs] : taken_) {
      const auto ends = ends_.find(number);
      if (ends == ends_.end()) continue;
      const auto next = std::lower_bound(ends->second.begin(), ends->second.end(), endNs);
      // The time that the consumer came later than the batch was ready is not handing over.
      if (next != ends->second.begin())
        out_.handedNs.push_back(endNs - std::max(startNs, *std::prev(next)));
    }
    return std::move(out_);
  }

 private:
  void finish(const BatchTime& batch) {
    if (batch.endNs <= batch.startNs) return;
    out_.preparedNs.push_back(batch.endNs - batch.startNs);
    ends_[batch.number].push_back(batch.endNs);
  }

  std::unordered_map<prof::ThreadId, BatchTime> current_;
  std::unordered_map<std::uint64_t, std::vector<TimeNs>> ends_;
  std::vector<BatchTime> taken_;  ///< by the consumer: when it asked and when it had them
  Batches out_;
};

/// Batches by number, as the program's loader ranges carry it.
Batches batchesOf(const Store& store, prof::TimeWindow window) {
  BatchTimes times;
  const prof::StringId loader = store.find("loader");
  const prof::StringId wait = store.find("wait");
  const prof::StringId put = store.find("put");
  const std::array noBatch{store.find(kLoaderChanges[0]), store.find(kLoaderChanges[1])};
  if (!loader) return {};
  const auto status = store.scan<&Range::startNs, &Range::durNs, &Range::thread, &Range::category,
                                 &Range::name, &Range::payload, &Range::payloadType>(
      window, [&](std::uint64_t, auto start, auto dur, auto thread, auto category, auto name,
                  auto payload, auto type) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (category[i] != loader || type[i] == prof::PayloadType::None) continue;
          if (std::find(noBatch.begin(), noBatch.end(), name[i]) != noBatch.end()) continue;
          if (name[i] == put) {
            times.pause(thread[i]);
          } else if (name[i] == wait) {
            times.take(payload[i], start[i], start[i] + dur[i]);
          } else {
            times.prepare(thread[i], payload[i], start[i], start[i] + dur[i]);
          }
        }
      });
  if (!status) return {};
  return times.all();
}

std::int64_t meanOf(const std::vector<std::int64_t>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  std::int64_t sum = 0;
  for (const std::int64_t value : values) prof::addTo(sum, value);
  return count == 0 ? 0 : sum / count;
}

std::int64_t quickestOf(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / kQuickestBatches);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

std::uint32_t knobOr(const Analysis& analysis, std::string_view name, std::uint32_t otherwise) {
  for (const auto& [key, value] : analysis.of<ProgramFacts>().knobs) {
    if (key == name && !value.empty())
      std::from_chars(value.data(), value.data() + value.size(), otherwise);
  }
  return otherwise;
}

}  // namespace

std::vector<TimeNs> epochBegins(const Store& store, prof::TimeWindow window) {
  std::vector<TimeNs> begins;
  const prof::StringId loader = store.find("loader"), wait = store.find("wait");
  if (!loader || !wait) return begins;
  const auto status = store.scan<&Range::startNs, &Range::category, &Range::name, &Range::payload,
                                 &Range::payloadType>(
      window, [&](std::uint64_t, auto start, auto category, auto name, auto payload, auto type) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          const bool isFirst = type[i] != prof::PayloadType::None && payload[i] == 0;
          if (isFirst && category[i] == loader && name[i] == wait) begins.push_back(start[i]);
        }
      });
  if (!status) return {};
  std::ranges::sort(begins);
  return begins;
}

LoaderModel loaderModel(const Analysis& analysis, const Simulator::Model& model) {
  LoaderModel loader;
  if (!analysis.of<LoaderStats>().present) return loader;
  if (!analysis.of<LoaderStats>().workersKnown) return loader;
  loader.workers = analysis.of<LoaderStats>().workers;
  loader.serial = loader.workers == 0;
  loader.prefetch =
      std::max(1u, knobOr(analysis, changes::loaderPrefetch.info.name, loader.prefetch));
  loader.cpuShare = analysis.of<LoaderStats>().cpuShare;
  if (!loader.serial) {
    const Batches batches = batchesOf(*analysis.store, analysis.window);
    loader.batchNs = batches.preparedNs.empty() ? analysis.of<LoaderStats>().batchNs()
                                                : medianOf(batches.preparedNs);
    // The mean: a consumer that now and then waits long for a batch that is ready waits as long for
    // any loader's.
    loader.handoverNs = meanOf(batches.handedNs);
    loader.idleHandoverNs = std::min(loader.handoverNs, quickestOf(batches.handedNs));
    return loader;
  }
  std::vector<std::int64_t> prepared;
  for (const HostItem& item : model.items) {
    if (item.kind == HostItemKind::LoaderWait) prepared.push_back(item.durNs);
  }
  loader.batchNs = medianOf(prepared);
  return loader;
}

}  // namespace lacuna::analyzer
