// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lacuna/analyzer/findings.h"
#include "whatif/model.h"

namespace lacuna::analyzer {

/// Workers that compute for more than this share of a batch's preparation keep the cores awake, and
/// shared. Loaders either read or decode, so few lie near it.
inline constexpr double kComputingLoader = 0.5;

/// Which end of a calibrated factor is played.
enum class Bound { Likely, Low, High };

/// The model with changes applied, ready to be replayed.
struct Scenario {
  Simulator::Model const* base = nullptr;
  std::vector<DeviceNode> nodes;
  std::vector<HostItem> items;
  std::vector<char> removed;  ///< by node
  LoaderModel loader;
  bool pipelined =
      false;             ///< batches are prepared by workers of the model, not at the recorded pace
  bool touched = false;  ///< a change altered something
  bool unstalled = false;  ///< changes take waits away, so that steady steps are what is replayed
  Bound bound = Bound::Likely;
};

/// Adds the limits that the model passes to `limits`, unless that is null.
Scenario scenarioOf(const Simulator::Model& model, std::span<const Change> changes, Bound bound,
                    GainLimits* limits = nullptr);
/// The same of the steps as they were recorded, also where changes take waits away.
Scenario asRecorded(const Simulator::Model& model, std::span<const Change> changes);
/// And with only those changes that take none away.
Scenario withWaits(const Simulator::Model& model, std::span<const Change> changes, Bound bound);

/// True when the change leaves the device's work as it is and only brings it sooner.
bool hastensHost(const Change& change);

}  // namespace lacuna::analyzer
