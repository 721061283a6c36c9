// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
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
};

Scenario scenarioOf(const Simulator::Model& model, std::span<const Change> changes, Bound bound);

/// Changes of which a low and a high bound can be played.
bool hasBounds(const Change& change);

/// Whether a name holds the pattern, in which '*' stands for anything; letters match in either case.
bool matches(std::string_view name, std::string_view pattern);

}  // namespace lacuna::analyzer
