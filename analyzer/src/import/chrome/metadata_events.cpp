// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/metadata_events.h"

#include <simdjson.h>

#include <algorithm>
#include <string_view>

#include "formats/own_columns.h"

namespace lacuna::analyzer {
namespace {

/// Takes the name that a metadata event gives; the process it is about, if there is one.
prof::ProcessId nameFromMetadata(std::string_view event, const ImportedPlaces& places,
                                 StoreBuilder& builder) {
  simdjson::dom::parser parser;
  simdjson::dom::element value, pid, tid;
  if (parser.parse(simdjson::padded_string(event)).get(value) != simdjson::SUCCESS) return {};
  if (value["pid"].get(pid) != simdjson::SUCCESS) return {};
  const std::string pidToken = simdjson::minify(pid);
  const prof::ProcessId id = places.findProcess(pidToken);
  std::string_view what;
  std::string_view name;
  if (value["name"].get(what) != simdjson::SUCCESS) return id;
  if (value["args"]["name"].get(name) != simdjson::SUCCESS || name.empty()) return id;
  if (what == "process_name") {
    if (id) builder.columns<prof::Process>().name[id.value - 1] = builder.intern(name);
    const prof::DeviceId device = places.findDevice(pidToken);
    if (device && pidToken.starts_with('"')) {
      builder.columns<prof::Device>().name[device.value - 1] = builder.intern(name);
    }
    return id;
  }
  if (what != "thread_name" || value["tid"].get(tid) != simdjson::SUCCESS) return id;
  const std::string tidToken = simdjson::minify(tid);
  if (const prof::ThreadId thread = places.findThread(pidToken, tidToken)) {
    builder.columns<prof::Thread>().name[thread.value - 1] = builder.intern(name);
  }
  if (const prof::QueueId queue = places.findQueue(pidToken, tidToken)) {
    builder.columns<prof::Queue>().name[queue.value - 1] = builder.intern(name);
  }
  return id;
}

/// True for an event of ours that gives a rank, which is no more than the column that it becomes.
bool rankFromMetadata(std::string_view event, const ImportedPlaces& places, StoreBuilder& builder) {
  if (event.find(kRankEvent) == std::string_view::npos) return false;
  simdjson::dom::parser parser;
  simdjson::dom::element value, pid;
  std::string_view what;
  std::int64_t rank = -1;
  if (parser.parse(simdjson::padded_string(event)).get(value) != simdjson::SUCCESS) return false;
  if (value["name"].get(what) != simdjson::SUCCESS || what != kRankEvent) return false;
  if (value["pid"].get(pid) != simdjson::SUCCESS ||
      value["args"]["rank"].get(rank) != simdjson::SUCCESS)
    return false;
  if (rank < -1 || rank > INT32_MAX) return false;
  if (const prof::ProcessId process = places.findProcess(simdjson::minify(pid)))
    builder.columns<prof::Process>().rank[process.value - 1] = static_cast<std::int32_t>(rank);
  return true;
}

}  // namespace

void readMetadata(const std::vector<std::string>& metadata, const ImportedPlaces& places,
                  StoreBuilder& builder) {
  const prof::StringId key =
      metadata.empty() ? prof::StringId() : builder.intern("chrome.metadata");
  for (const std::string& event : metadata) {
    if (rankFromMetadata(event, places, builder)) continue;
    builder.append(
        prof::Environment{nameFromMetadata(event, places, builder), key, builder.intern(event)});
  }
}

void describeByCalls(const ImportedPlaces& places, StoreBuilder& builder) {
  auto& calls = builder.columns<prof::ApiCall>();
  auto& threads = builder.columns<prof::Thread>();
  std::vector<bool> calling(places.processes() + 1);
  bool isRocm = false;
  std::vector<bool> seen;
  for (std::size_t i = 0; i < calls.name.size(); ++i) {
    calling[threads.process[calls.thread[i].value - 1].value] = true;
    if (calls.name[i].value >= seen.size()) seen.resize(calls.name[i].value + 1);
    if (!seen[calls.name[i].value]) isRocm |= builder.text(calls.name[i]).substr(0, 3) == "hip";
    seen[calls.name[i].value] = true;
  }
  if (isRocm) {
    std::ranges::replace(builder.columns<prof::Device>().kind, prof::DeviceKind::Cuda,
                         prof::DeviceKind::Rocm);
  }
  // With one process that calls the driver, its are all the queues.
  if (std::ranges::count(calling, true) != 1) return;
  const auto process =
      static_cast<std::uint32_t>(std::ranges::find(calling, true) - calling.begin());
  auto& queues = builder.columns<prof::Queue>();
  for (prof::ProcessId& owner : queues.process) owner = owner ? owner : prof::ProcessId(process);
}

}  // namespace lacuna::analyzer
