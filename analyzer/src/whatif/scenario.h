// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "whatif/model.h"

namespace lacuna::analyzer {

/// Which end of a calibrated factor is played.
enum class Bound { Likely, Low, High };

/// The model with changes applied, ready to be replayed.
struct Scenario {
  Simulator::Model const* base = nullptr;
  std::vector<DeviceNode> nodes;
  std::vector<HostItem> items;
  std::vector<char> removed;  ///< by node
  LoaderModel loader;
  bool pipelined = false;  ///< batches are prepared by workers of the model, not at the recorded pace
  bool touched = false;    ///< a change altered something
  bool unstalled = false;  ///< changes take waits away, so that steady steps are what is replayed
};

Scenario scenarioOf(const Simulator::Model& model, std::span<const Change> changes, Bound bound);
/// The same of the steps as they were recorded, also where changes take waits away.
Scenario asRecorded(const Simulator::Model& model, std::span<const Change> changes);

/// Changes of which a low and a high bound can be played.
bool hasBounds(const Change& change);

/// Changes that leave the device's work as it is, and only bring it sooner.
bool quickensHost(const Change& change);

/// Whether any call of the model has the name that the change is about.
bool namesCalls(const Change& change, const Simulator::Model& model);

/// Whether the change makes this node longer or shorter by its factor.
bool scales(const Change& change, const Simulator::Model& model, std::size_t node);

}  // namespace lacuna::analyzer
