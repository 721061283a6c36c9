// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lacuna/analyzer/steps.h"
#include "lacuna/analyzer/taken_cores.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

/// The rows that somebody asked for: of some devices' queues, and of the processes that fill them. By default all.
struct Selection {
  bool everything = true;
  std::unordered_set<prof::QueueId> queues;
  std::unordered_set<prof::DeviceId> devices;
  std::unordered_set<prof::ProcessId> processes;
  std::unordered_map<prof::ThreadId, prof::ProcessId> processOfThread;

  [[nodiscard]] bool holds(prof::QueueId queue) const { return everything || queues.contains(queue); }
  [[nodiscard]] bool holds(prof::DeviceId device) const { return everything || devices.contains(device); }
  [[nodiscard]] bool holds(prof::ProcessId process) const { return everything || processes.contains(process); }
  [[nodiscard]] bool holds(prof::ThreadId thread) const;
  /// Memory of a device, or the host's where `device` is none.
  [[nodiscard]] bool holdsMemory(prof::DeviceId device, prof::ThreadId thread) const {
    return holds(device) || (!device && holds(thread));
  }
  /// The rows of the timeline that are held, and what belongs to no thread.
  [[nodiscard]] Timeline of(const Timeline& timeline) const;
};

/// Tells what lies in the steps that lie in a window. Where there are none, everything does.
class StepSpans {
 public:
  StepSpans() = default;
  StepSpans(const Steps& steps, prof::TimeWindow window);

  [[nodiscard]] bool everything() const { return spans_.empty(); }
  [[nodiscard]] bool hold(prof::TimeNs at) const;
  /// Steps that are numbered each by its name are one thing: what to call a range of that name.
  [[nodiscard]] std::string_view foldedName(std::string_view name) const;

 private:
  std::vector<prof::TimeWindow> spans_;  ///< disjoint, in order; steps that follow each other without a gap are one
  std::set<std::string, std::less<>> markers_;  ///< what steps are called, where they are not all called the same
};

/// What a table is about, and of what its figures per step are.
struct TableScope {
  Selection only;
  StepSpans steps;
  ShareCurve taken;  ///< cores that the recorder may have kept from the selected threads
};

}  // namespace lacuna::analyzer
