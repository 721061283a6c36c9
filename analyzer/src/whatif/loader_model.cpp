// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "whatif/model.h"

namespace lacuna::analyzer {
namespace {

using prof::Range;
using prof::TimeNs;

struct Batch {
  TimeNs startNs = INT64_MAX;
  TimeNs endNs = INT64_MIN;
  TimeNs takenNs = INT64_MIN;
};

/// Batches by number, as the program's loader ranges carry it.
std::unordered_map<std::uint64_t, Batch> batchesOf(const Store& store, prof::TimeWindow window) {
  std::unordered_map<std::uint64_t, Batch> batches;
  const prof::StringId loader = store.find("loader");
  const prof::StringId wait = store.find("wait");
  const prof::StringId put = store.find("put");
  if (!loader) return batches;
  const auto status =
      store.scan<&Range::startNs, &Range::durNs, &Range::category, &Range::name, &Range::payload, &Range::payloadType>(
          window, [&](std::uint64_t, auto start, auto dur, auto category, auto name, auto payload, auto type) {
            for (std::size_t i = 0; i < start.size(); ++i) {
              if (category[i] != loader || name[i] == put || type[i] == prof::PayloadType::None) continue;
              Batch& batch = batches[payload[i]];
              if (name[i] == wait) {
                batch.takenNs = start[i] + dur[i];
              } else {
                batch.startNs = std::min(batch.startNs, start[i]);
                batch.endNs = std::max(batch.endNs, start[i] + dur[i]);
              }
            }
          });
  if (!status) batches.clear();
  return batches;
}

std::uint32_t knobOr(const Analysis& analysis, std::string_view name, std::uint32_t otherwise) {
  for (const auto& [key, value] : analysis.knobs) {
    if (key == name && !value.empty()) std::from_chars(value.data(), value.data() + value.size(), otherwise);
  }
  return otherwise;
}

}  // namespace

LoaderModel loaderModel(const Analysis& analysis, const Simulator::Model& model) {
  LoaderModel loader;
  if (!analysis.loader.present) return loader;
  loader.workers = analysis.loader.workers;
  loader.serial = loader.workers == 0;
  loader.prefetch = std::max(1u, knobOr(analysis, "loader.prefetch", 2));
  loader.cpuShare = analysis.loader.cpuShare;
  std::vector<std::int64_t> prepared, handed;
  if (!loader.serial) {
    for (const auto& [number, batch] : batchesOf(*analysis.store, analysis.window)) {
      if (batch.endNs <= batch.startNs) continue;
      prepared.push_back(batch.endNs - batch.startNs);
      // Long after it was ready says when the consumer came, not what handing over takes.
      if (batch.takenNs > batch.endNs && batch.takenNs - batch.endNs < 1'000'000)
        handed.push_back(batch.takenNs - batch.endNs);
    }
    loader.batchNs = prepared.empty() ? analysis.loader.batchNs() : medianOf(prepared);
    loader.handoverNs = medianOf(handed);
    return loader;
  }
  for (const HostItem& item : model.items) {
    if (item.kind == HostItemKind::LoaderWait) prepared.push_back(item.durNs);
  }
  loader.batchNs = medianOf(prepared);
  return loader;
}

}  // namespace lacuna::analyzer
