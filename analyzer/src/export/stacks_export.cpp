// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "export/exporters.h"
#include "export/unique_names.h"
#include "formats/json_text.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"
#include "links/recording_spans.h"
#include "tracks/path_tree.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;

/// The pushed and popped ranges of each thread, in time order, cut so that they nest.
struct OpenRange {
  std::uint64_t row;
  TimeNs endNs;
};

/// Without what separates things in folded stacks, and with unseen characters made visible.
std::string frameText(std::string_view from) {
  std::string text = oneLine(from);
  std::ranges::replace(text, ';', ':');
  return text;
}

std::string frameName(const Store& store, prof::StringId name) {
  std::string text = frameText(store.text(name));
  return text.empty() ? "(no name)" : text;
}

/// Walks the ranges of every thread as begins and ends that nest: visit(thread, row, timeNs,
/// isBegin). Without those in which the recorder speaks of itself. Answers how many others lie in
/// no stack.
template <class Visit>
std::uint64_t walkStacks(const Store& store, Visit&& visit) {
  const auto starts = store.column<&prof::Range::startNs>();
  const auto lengths = store.column<&prof::Range::durNs>();
  const auto threads = store.column<&prof::Range::thread>();
  const auto kinds = store.column<&prof::Range::kind>();
  const auto categories = store.column<&prof::Range::category>();
  const auto names = store.column<&prof::Range::name>();
  const RecordingSpans recording(store);
  std::uint64_t left = 0;
  std::unordered_map<prof::ThreadId, std::vector<OpenRange>> open;
  const auto close = [&](prof::ThreadId thread, std::vector<OpenRange>& stack, TimeNs untilNs) {
    while (!stack.empty() && stack.back().endNs <= untilNs) {
      visit(thread, stack.back().row, stack.back().endNs, false);
      stack.pop_back();
    }
  };
  for (std::uint64_t row = 0; row < starts.size(); ++row) {
    if (recording.has(categories[row], names[row])) continue;
    if (!threads[row] || kinds[row] != prof::RangeKind::PushPop) {
      ++left;
      continue;
    }
    auto& stack = open[threads[row]];
    close(threads[row], stack, starts[row]);
    const TimeNs endNs = starts[row] + lengths[row];
    stack.push_back({row, stack.empty() ? endNs : std::min(endNs, stack.back().endNs)});
    visit(threads[row], row, starts[row], true);
  }
  for (auto& [thread, stack] : open) close(thread, stack, INT64_MAX);
  return left;
}

/// Warns of rows that are no stack of ranges.
void warnOfOtherRows(const Store& store, std::string_view format, std::uint64_t leftRanges,
                     const ExportOptions& options) {
  if (!options.warn) return;
  std::string lost;
  const auto count = [&](std::uint64_t rows, std::string_view what) {
    if (rows > 0) lost += fmt::format("{}{} {}", lost.empty() ? "" : ", ", rows, what);
  };
  count(leftRanges, "ranges that no thread pushed");
  prof::forEachTable([&]<class Row>() {
    constexpr bool kHasTimes = requires(Row row) {
      row.startNs;
    }
    || requires(Row row) {
      row.timeNs;
    };
    if constexpr (kHasTimes && (Row::kTable > prof::Range::kTable)) {
      count(store.rows<Row>(), fmt::format("rows of {}", Row::kName));
    }
  });
  if (!lost.empty())
    options.warn(
        fmt::format("{} hold pushed ranges alone: there is no place for {}", format, lost));
}

/// `name`, or what comes after it where others have that.
std::string untaken(const std::string& name, UniqueNames& taken) {
  return taken.take(name, name, [&](int copy) { return fmt::format("{} #{}", name, copy); });
}

std::map<prof::ProcessId, std::string> processLabels(const Store& store,
                                                     const std::set<prof::ProcessId>& shown) {
  std::map<prof::ProcessId, std::string> labels;
  UniqueNames taken;
  for (std::uint64_t i = 0; i < store.rows<prof::Process>(); ++i) {
    const auto row = store.row<prof::Process>(i);
    if (!shown.contains(row.id)) continue;
    std::string label = row.name ? frameText(store.text(row.name)) : "process";
    label += fmt::format(" {}", row.osPid);
    if (row.rank >= 0) label += fmt::format(", rank {}", row.rank);
    labels[row.id] = untaken(label, taken);
  }
  return labels;
}

/// The label of a thread, which no other one has.
struct ThreadLabel {
  std::string process;  ///< empty where all are of one
  std::string thread;
};

std::map<prof::ThreadId, ThreadLabel> threadLabels(const Store& store,
                                                   const std::set<prof::ThreadId>& shown) {
  std::vector<prof::Thread> threads;
  std::set<prof::ProcessId> owners;
  std::map<std::pair<prof::ProcessId, prof::StringId>, int> namesakes;
  for (std::uint64_t i = 0; i < store.rows<prof::Thread>(); ++i) {
    const auto row = store.row<prof::Thread>(i);
    if (!shown.contains(row.id)) continue;
    threads.push_back(row);
    owners.insert(row.process);
    ++namesakes[{row.process, row.name}];
  }
  std::map<prof::ProcessId, std::string> processes;
  if (owners.size() > 1) processes = processLabels(store, owners);
  std::map<prof::ThreadId, ThreadLabel> labels;
  std::map<std::string, UniqueNames> taken;
  for (const prof::Thread& row : threads) {
    ThreadLabel& label = labels[row.id];
    if (const auto process = processes.find(row.process); process != processes.end())
      label.process = process->second;
    std::string name =
        row.name ? frameText(store.text(row.name)) : fmt::format("thread {}", row.osTid);
    if (row.name && namesakes[{row.process, row.name}] > 1) name += fmt::format(" ({})", row.osTid);
    label.thread = untaken(name, taken[label.process]);
  }
  for (const prof::ThreadId id : shown) {
    if (labels[id].thread.empty()) labels[id].thread = fmt::format("thread #{}", id.value);
  }
  return labels;
}

}  // namespace

prof::Status exportFolded(const Store& store, ByteSink& sink, const ExportOptions& options) {
  const auto names = store.column<&prof::Range::name>();
  struct Stacks {
    PathTree tree;
    std::vector<TimeNs> ownNs;  ///< by path
    std::vector<PathTree::Path> open;
    TimeNs sinceNs = 0;
  };
  std::unordered_map<prof::ThreadId, Stacks> threads;
  std::set<prof::ThreadId> shown;
  std::uint64_t tooDeep = 0;
  const auto visit = [&](prof::ThreadId thread, std::uint64_t row, TimeNs timeNs, bool isBegin) {
    auto& [tree, ownNs, open, sinceNs] = threads[thread];
    if (!open.empty() && timeNs > sinceNs) {
      ownNs.resize(tree.size());
      ownNs[open.back()] += timeNs - sinceNs;
      shown.insert(thread);
    }
    sinceNs = timeNs;
    if (!isBegin) return open.pop_back();
    const PathTree::Path around = open.empty() ? PathTree::kRoot : open.back();
    open.push_back(tree.below(around, tree.nameOf(frameName(store, names[row]))));
    if (open.back() == around) ++tooDeep;
  };
  const std::uint64_t left = walkStacks(store, visit);
  std::map<std::string, prof::ThreadId> byLabel;
  for (const auto& [thread, label] : threadLabels(store, shown)) {
    byLabel[label.process.empty() ? label.thread : label.process + ';' + label.thread] = thread;
  }
  for (const auto& [label, thread] : byLabel) {
    Stacks& stacks = threads[thread];
    stacks.ownNs.resize(stacks.tree.size());
    stacks.tree.walk(';', [&, &label = label](PathTree::Path path, std::string_view frames) {
      if (stacks.ownNs[path] > 0)
        sink.write(fmt::format("{}{} {}\n", label, frames, stacks.ownNs[path]));
    });
  }
  warnOfOtherRows(store, "folded stacks", left, options);
  if (tooDeep > 0 && options.warn) {
    options.warn(fmt::format(
        "folded stacks have at most {} frames: {} deeper ranges count to the last of these",
        prof::countText(PathTree::kMostNames), prof::countText(tooDeep)));
  }
  return {};
}

prof::Status exportSpeedscope(const Store& store, ByteSink& sink, const ExportOptions& options) {
  const auto names = store.column<&prof::Range::name>();
  const TimeNs originNs = store.span().startNs;
  std::unordered_map<prof::StringId, std::size_t> frames;
  std::string frameList;
  struct Profile {
    std::string events;
    TimeNs firstNs = INT64_MAX, lastNs = INT64_MIN;
  };
  std::map<prof::ThreadId, Profile> profiles;
  std::set<prof::ThreadId> shown;
  const auto visit = [&](prof::ThreadId thread, std::uint64_t row, TimeNs timeNs, bool isBegin) {
    const auto [frame, isNew] = frames.try_emplace(names[row], frames.size());
    if (isNew) {
      frameList += frameList.empty() ? "{\"name\": " : ",\n{\"name\": ";
      json::appendQuoted(frameList, store.text(names[row]));
      frameList += '}';
    }
    shown.insert(thread);
    Profile& profile = profiles[thread];
    profile.firstNs = std::min(profile.firstNs, timeNs);
    profile.lastNs = std::max(profile.lastNs, timeNs);
    profile.events += profile.events.empty() ? "" : ",\n";
    profile.events += fmt::format("{{\"type\": \"{}\", \"frame\": {}, \"at\": {}}}",
                                  isBegin ? 'O' : 'C', frame->second, timeNs - originNs);
  };
  const std::uint64_t left = walkStacks(store, visit);
  sink.write(
      "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\", \"exporter\": "
      "\"lacuna\",\n");
  sink.write("\"shared\": {\"frames\": [" + frameList + "]},\n\"profiles\": [");
  auto labels = threadLabels(store, shown);
  bool first = true;
  for (const auto& [thread, profile] : profiles) {
    std::string head = first ? "\n" : ",\n";
    head += "{\"type\": \"evented\", \"unit\": \"nanoseconds\", \"name\": ";
    const ThreadLabel& label = labels[thread];
    json::appendQuoted(head,
                       label.process.empty() ? label.thread : label.process + ": " + label.thread);
    head += fmt::format(", \"startValue\": {}, \"endValue\": {}, \"events\": [\n",
                        profile.firstNs - originNs, profile.lastNs - originNs);
    sink.write(head);
    sink.write(profile.events);
    sink.write("]}");
    first = false;
  }
  sink.write("\n]}\n");
  warnOfOtherRows(store, "speedscope's profiles", left, options);
  return {};
}

}  // namespace lacuna::analyzer
