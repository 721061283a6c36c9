// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::analyzer {

inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// A piece of device work and what its start waited for when it was recorded.
struct DeviceNode {
  std::int64_t durNs = 0;
  std::size_t queue = 0;
  std::size_t after = kNowhere;    ///< work on another queue that it waited for
  std::int64_t launchDelayNs = 0;  ///< from the end of its launch call
  std::int64_t queueGapNs = 0;     ///< from the end of the work before it
  std::int64_t afterGapNs = 0;     ///< from the end of `after`
  prof::TimeNs measuredEndNs = 0;
  prof::StringId name;
  Work work = Work::Compute;
  bool isMemset = false;
  bool isPageable = false;
};

enum class HostItemKind : std::uint8_t { Launch, Sync, LoaderWait };

/// One thing of the host's program, with the host's own work in front of it.
struct HostItem {
  HostItemKind kind = HostItemKind::Launch;
  std::int64_t gapNs = 0;       ///< host work between the item before and this one
  std::int64_t driverNs = 0;    ///< of that, allocator and driver calls
  std::int64_t durNs = 0;       ///< the call; for waits what is left without the waiting
  std::size_t node = kNowhere;  ///< the work launched, or waited for
  std::int64_t periodNs = 0;    ///< loader: from the batch before becoming ready to this one
  bool blocks = false;          ///< a launch that returns when its work is done
  bool inOptimizer = false;
  bool inZeroGrad = false;
};

struct Simulator::Model {
  std::vector<DeviceNode> nodes;  ///< in the order of their launches
  std::vector<HostItem> items;
  std::size_t queues = 0;
  std::int64_t steps = 1;
  std::int64_t tailNs = 0;         ///< host work behind the last item
  std::int64_t measuredNs = 0;     ///< begin of the first step to the end of the last one and its work
  std::vector<std::string> names;  ///< by node, for patterns
  std::uint32_t workers = 0;       ///< of the loader, when recorded
  bool serialLoader = false;
  double loaderCpuShare = -1;  ///< of the workers' time that they computed; -1 unknown
  std::uint32_t hostCores = 0;
  bool cpuDevice = false;
};

/// Reads the model off the timeline of the steady steps; nothing when no device work lies in them.
std::unique_ptr<Simulator::Model> buildModel(const Analysis& analysis);

}  // namespace lacuna::analyzer
