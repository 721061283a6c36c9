// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "support/trace_faults.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/charts.h"
#include "lacuna/analyzer/diff.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/query.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::test {
namespace {

using namespace analyzer;
namespace fs = std::filesystem;

constexpr int kWidth = 80;
constexpr int kPixels = 64;

constexpr std::array kChanges{"loader.workers=4", "loader.prefetch=2",
                              "loader.pin=on",    "amp=bf16",
                              "static_graph=on",  "fuse=on",
                              "autotune=on",      "zero_grad=none",
                              "conv_bias=off",    "optimizer.fused=on",
                              "sync=off",         "allocator=cached",
                              "debug=off",        "overlap=on",
                              "repeats=joined",   "kernel:add*0.5",
                              "host*0.5",         "communication*0",
                              "loader*2",         "start-delay*0",
                              "off-cpu*0",        "replication*0",
                              "through-host*0",   "conversion*0",
                              "cores-taken*0",    "batch*2"};

constexpr std::array kQueries{
    "SELECT name, count(*), sum(dur_ns) FROM kernel GROUP BY name ORDER BY 3 DESC",
    "SELECT r.name, arg_value(a.type, a.value) FROM range r LEFT JOIN arg a ON a.row = r.row LIMIT "
    "100",
    "SELECT * FROM allocation ORDER BY bytes DESC LIMIT 10",
    "SELECT * FROM collective",
};

std::string sumFault(const Analysis& analysis) {
  std::int64_t all = 0;
  for (const DeviceAccount& device : analysis.devices) {
    if (device.ledger.totalNs() != device.window.endNs - device.window.startNs) {
      return fmt::format("the ledger of {} does not sum to its window", device.label);
    }
    all += device.ledger.totalNs();
  }
  return analysis.ledgers.run.totalNs() == all
             ? ""
             : "the ledgers of the devices do not sum to the whole";
}

std::string findingFault(const Finding& finding) {
  if (finding.costNsPerStep < 0)
    return fmt::format("{} costs less than nothing", findingKey(finding.id));
  if (finding.predictedGainNsPerStep < 0)
    return fmt::format("{} gains less than nothing", findingKey(finding.id));
  if (finding.confidence >= 0 && finding.confidence <= 1) return "";
  return fmt::format("{} has the confidence {}", findingKey(finding.id), finding.confidence);
}

std::string reportFault(const Analysis& analysis) {
  for (const std::string_view section : reportSections()) {
    if (renderText(analysis, {{std::string(section)}, kWidth, false}).empty()) {
      return fmt::format("the section {} is empty", section);
    }
  }
  if (renderText(analysis).empty()) return "the overview is empty";
  if (renderHtml(analysis).find("</html>") == std::string::npos) return "the page has no end";
  return jsonFault(renderJson(analysis));
}

std::string pathFault(const StepPath& path) {
  const std::array parts{path.computeNs, path.communicationNs, path.copyNs,
                         path.hostNs,    path.launchNs,        path.loaderNs};
  for (const std::int64_t part : parts) {
    if (part < 0) return "the critical path has a part of negative length";
  }
  return "";
}

std::string changeFault(const Simulator& simulator, const char* change) {
  if (!parseChange(change)) return fmt::format("{} is not read", change);
  const Prediction prediction = simulator.play(change);
  if (prediction.predictedNsPerStep < 0)
    return fmt::format("{} predicts a step of negative length", change);
  return std::isfinite(prediction.gainShare()) ? ""
                                               : fmt::format("{} gains no finite share", change);
}

std::string whatIfFault(const Analysis& analysis) {
  const auto simulator = Simulator::create(analysis);
  if (!simulator) return "";
  for (const char* change : kChanges) {
    if (std::string fault = changeFault(*simulator, change); !fault.empty()) return fault;
  }
  for (const StepPath& path : simulator->criticalPaths()) {
    if (std::string fault = pathFault(path); !fault.empty()) return fault;
  }
  return "";
}

std::string compareFault(const Analysis& analysis) {
  (void)compareKernels(analysis, analysis);
  (void)compareOperators(analysis, analysis);
  (void)compareLedgers(analysis, analysis);
  for (const Comparison& row : compareRuns(analysis, analysis)) {
    if (row.worse() || row.better()) return fmt::format("{} differs from itself", row.what);
  }
  return diffRuns(analysis, analysis) ? "" : "a run cannot be compared with itself";
}

std::string queryFault(const std::shared_ptr<const Store>& store) {
  Query query(store);
  for (const char* sql : kQueries) {
    const auto status = query.run(
        sql, [](const auto&) {}, [](const auto&) { return true; });
    if (!status.ok() && status.error().message.empty())
      return fmt::format("no reason why this fails: {}", sql);
  }
  return "";
}

void drawTrack(const Track& track, prof::TimeWindow span) {
  const double nsPerPixel = static_cast<double>(span.endNs - span.startNs) / kPixels;
  std::vector<Cell> cells(kPixels);
  std::vector<CounterCell> values(kPixels);
  for (const double zoom : {0.5, 1.0, 900.0}) {
    for (const Lane& lane : track.lanes)
      lane.query({span.startNs, nsPerPixel / zoom, kPixels}, cells);
    track.counter.query({span.startNs, nsPerPixel / zoom, kPixels}, values);
  }
}

std::string timelineFault(const Store& store) {
  const auto tracks = buildTracks(store);
  if (!tracks) return tracks.error().message.empty() ? "no reason why there is no timeline" : "";
  for (const TrackGroup& group : (*tracks)->groups) {
    for (const Track& track : group.tracks) drawTrack(track, (*tracks)->span);
  }
  (void)areaStats(**tracks, (*tracks)->span);
  (void)durationHistogram(**tracks, TrackKind::Work, prof::StringId(1));
  (void)flameGraph(store);
  (void)memoryAt(store, (*tracks)->span.endNs);
  return "";
}

std::string readText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string linesFault(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (std::string fault = jsonFault(text.substr(0, end)); !fault.empty()) return fault;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return "";
}

struct Written {
  Format format;
  const char* name;
  bool isTrace;  ///< and opens again
  std::string (*fault)(std::string_view) = nullptr;
};

constexpr std::array<Written, 8> kWritten{
    {{Format::Lcn, "out.lcn", true},
     {Format::Chrome, "out.json", true, jsonFault},
     {Format::Perfetto, "out.pftrace", true},
     {Format::Nsys, "out.sqlite", true},
     {Format::Folded, "out.folded", false},
     {Format::Speedscope, "out.speedscope.json", false, jsonFault},
     {Format::Csv, "out.csv", false},
     {Format::TableJson, "out.table", false, linesFault}}};

/// Every format has a place for these.
bool holdsEvents(const Store& store) {
  return store.rows<prof::Range>() + store.rows<prof::ApiCall>() + store.rows<prof::Kernel>() > 0;
}

/// Checks that a file, as written, is what it claims to be. A trace without events may be refused.
std::string writtenFault(const Written& as, const fs::path& path, bool isEmpty) {
  if (as.fault != nullptr) {
    if (const std::string fault = as.fault(readText(path)); !fault.empty()) return fault;
  }
  if (!as.isTrace || isEmpty) return "";
  const auto again = Store::open(path);
  return again ? "" : again.error().message;
}

std::string exportFault(const Store& store, const fs::path& folder, const Written& as) {
  const fs::path path = folder / as.name;
  const auto status = exportTrace(store, path, as.format);
  std::string fault;
  if (!status.ok()) fault = status.error().message.empty() ? "no reason why it is not written" : "";
  if (status.ok()) fault = writtenFault(as, path, !holdsEvents(store));
  std::error_code ignored;
  fs::remove(path, ignored);
  return fault.empty() ? "" : fmt::format("{}: {}", as.name, fault);
}

}  // namespace

std::string jsonFault(std::string_view text) {
  simdjson::dom::parser parser;
  const auto error = parser.parse(text.data(), text.size()).error();
  if (error == simdjson::SUCCESS) return "";
  return fmt::format("not valid JSON: {}: {}", simdjson::error_message(error),
                     text.substr(0, 2000));
}

std::string faultOf(const std::shared_ptr<const Store>& store) {
  if (std::string fault = queryFault(store); !fault.empty()) return fault;
  if (std::string fault = timelineFault(*store); !fault.empty()) return fault;
  const auto analysis = analyse(store);
  if (!analysis) return analysis.error().message.empty() ? "no reason why it is not analysed" : "";
  for (const auto& check : {sumFault, reportFault, whatIfFault, compareFault}) {
    if (std::string fault = check(*analysis); !fault.empty()) return fault;
  }
  for (const Finding& finding : analysis->of<Findings>()) {
    if (std::string fault = findingFault(finding); !fault.empty()) return fault;
  }
  return "";
}

std::string faultOfFile(const fs::path& path, const fs::path& folder,
                        std::optional<std::size_t> one) {
  const auto store = Store::open(path);
  if (!store) return store.error().message.empty() ? "no reason why it is not opened" : "";
  if (std::string fault = faultOf(*store); !fault.empty()) return fault;
  const std::array twice{*store, *store};
  if (const auto merged = mergeTraces(twice); !merged && merged.error().message.empty()) {
    return "no reason why it is not merged";
  }
  if (one) return exportFault(**store, folder, kWritten[*one % kWritten.size()]);
  for (const Written& as : kWritten) {
    if (std::string fault = exportFault(**store, folder, as); !fault.empty()) return fault;
  }
  return "";
}

}  // namespace lacuna::test
