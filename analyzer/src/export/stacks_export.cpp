// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "export/exporters.h"
#include "store/json_text.h"
#include "store/recording_spans.h"

namespace lacuna::analyzer {
namespace {

using prof::TimeNs;

/// The pushed and popped ranges of each thread, in time order, cut so that they nest.
struct OpenRange {
  std::uint64_t row;
  TimeNs endNs;
};

std::string frameName(const Store& store, prof::StringId name) {
  std::string text(store.text(name));
  // Both separate things in folded stacks.
  std::ranges::replace(text, ';', ':');
  std::ranges::replace(text, '\n', ' ');
  return text.empty() ? "(no name)" : text;
}

/// Walks the ranges of every thread as begins and ends that nest: visit(thread, row, timeNs, isBegin). Without those in
/// which the recorder speaks of itself.
template <class Visit>
void walkStacks(const Store& store, Visit&& visit) {
  const auto starts = store.column<&prof::Range::startNs>();
  const auto lengths = store.column<&prof::Range::durNs>();
  const auto threads = store.column<&prof::Range::thread>();
  const auto kinds = store.column<&prof::Range::kind>();
  const auto categories = store.column<&prof::Range::category>();
  const auto names = store.column<&prof::Range::name>();
  const RecordingSpans recording(store);
  std::unordered_map<prof::ThreadId, std::vector<OpenRange>> open;
  const auto close = [&](prof::ThreadId thread, std::vector<OpenRange>& stack, TimeNs untilNs) {
    while (!stack.empty() && stack.back().endNs <= untilNs) {
      visit(thread, stack.back().row, stack.back().endNs, false);
      stack.pop_back();
    }
  };
  for (std::uint64_t row = 0; row < starts.size(); ++row) {
    if (!threads[row] || kinds[row] != prof::RangeKind::PushPop) continue;
    if (recording.has(categories[row], names[row])) continue;
    auto& stack = open[threads[row]];
    close(threads[row], stack, starts[row]);
    const TimeNs endNs = starts[row] + lengths[row];
    stack.push_back({row, stack.empty() ? endNs : std::min(endNs, stack.back().endNs)});
    visit(threads[row], row, starts[row], true);
  }
  for (auto& [thread, stack] : open) close(thread, stack, INT64_MAX);
}

std::map<prof::ThreadId, std::string> threadNames(const Store& store) {
  std::map<prof::ThreadId, std::string> names;
  for (std::uint64_t i = 0; i < store.rows<prof::Thread>(); ++i) {
    const auto row = store.row<prof::Thread>(i);
    const std::string_view given = store.text(row.name);
    names[row.id] = given.empty() ? fmt::format("thread {}", row.osTid) : std::string(given);
    std::ranges::replace(names[row.id], ';', ':');
  }
  return names;
}

}  // namespace

prof::Status exportFolded(const Store& store, ByteSink& sink, const ExportOptions&) {
  const auto names = store.column<&prof::Range::name>();
  const auto threadName = threadNames(store);
  struct Stack {
    std::vector<std::string> frames;
    TimeNs sinceNs = 0;
  };
  std::unordered_map<prof::ThreadId, Stack> stacks;
  std::map<std::string, TimeNs> selfNs;
  walkStacks(store, [&](prof::ThreadId thread, std::uint64_t row, TimeNs timeNs, bool isBegin) {
    Stack& stack = stacks[thread];
    if (!stack.frames.empty() && timeNs > stack.sinceNs) {
      const auto name = threadName.find(thread);
      std::string line = name == threadName.end() ? "thread" : name->second;
      for (const std::string& frame : stack.frames) line += ';' + frame;
      selfNs[line] += timeNs - stack.sinceNs;
    }
    stack.sinceNs = timeNs;
    if (isBegin) {
      stack.frames.push_back(frameName(store, names[row]));
    } else {
      stack.frames.pop_back();
    }
  });
  for (const auto& [line, ns] : selfNs) sink.write(fmt::format("{} {}\n", line, ns));
  return {};
}

prof::Status exportSpeedscope(const Store& store, ByteSink& sink, const ExportOptions&) {
  const auto names = store.column<&prof::Range::name>();
  const TimeNs originNs = store.span().startNs;
  std::unordered_map<prof::StringId, std::size_t> frames;
  std::string frameList;
  struct Profile {
    std::string events;
    TimeNs firstNs = INT64_MAX, lastNs = INT64_MIN;
  };
  std::map<prof::ThreadId, Profile> profiles;
  walkStacks(store, [&](prof::ThreadId thread, std::uint64_t row, TimeNs timeNs, bool isBegin) {
    const auto [frame, isNew] = frames.try_emplace(names[row], frames.size());
    if (isNew) {
      frameList += frameList.empty() ? "{\"name\": " : ",\n{\"name\": ";
      json::appendQuoted(frameList, store.text(names[row]));
      frameList += '}';
    }
    Profile& profile = profiles[thread];
    profile.firstNs = std::min(profile.firstNs, timeNs);
    profile.lastNs = std::max(profile.lastNs, timeNs);
    profile.events += profile.events.empty() ? "" : ",\n";
    profile.events += fmt::format("{{\"type\": \"{}\", \"frame\": {}, \"at\": {}}}", isBegin ? 'O' : 'C', frame->second,
                                  timeNs - originNs);
  });
  sink.write("{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\", \"exporter\": \"lacuna\",\n");
  sink.write("\"shared\": {\"frames\": [" + frameList + "]},\n\"profiles\": [");
  const auto threadName = threadNames(store);
  bool first = true;
  for (const auto& [thread, profile] : profiles) {
    std::string head = first ? "\n" : ",\n";
    head += "{\"type\": \"evented\", \"unit\": \"nanoseconds\", \"name\": ";
    const auto name = threadName.find(thread);
    json::appendQuoted(head, name == threadName.end() ? "thread" : name->second);
    head += fmt::format(", \"startValue\": {}, \"endValue\": {}, \"events\": [\n", profile.firstNs - originNs,
                        profile.lastNs - originNs);
    sink.write(head);
    sink.write(profile.events);
    sink.write("]}");
    first = false;
  }
  sink.write("\n]}\n");
  return {};
}

}  // namespace lacuna::analyzer
