// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lacuna/analyzer/whatif.h"
#include "whatif/scenario.h"

namespace lacuna::analyzer {

/// A change's factor on the durations of some kinds of kernels, which a calibration may replace.
struct CalibratedFactor {
  std::string_view kernels;  ///< the word for these kinds in a calibration file
  std::span<const KernelKind> kinds;
  std::optional<DurationFactor>
      builtIn{};  ///< nothing where another word's factor covers these kinds
};

/// The side of a switch that differs from the run as it was recorded. Its other side does nothing.
enum class Acts : std::uint8_t { Always, WhenOn, WhenOff };

/// One knob or part: all that the simulator knows of it. To add a change, write one file beside the
/// others and list it in registry.h. A function that is null stands for the comment's "otherwise".
struct ChangeType {
  ChangeInfo info;
  /// The functions below are asked on that side alone, so that none of them reads the words of a
  /// switch.
  Acts acts = Acts::Always;
  /// Alters the program to replay. Otherwise nothing happens.
  void (*apply)(Scenario&, const Change&, Bound) = nullptr;
  /// Refuses a factor that makes no sense, with the reason. Otherwise any is right.
  std::optional<std::string_view> (*refuse)(const Change&) = nullptr;
  /// Refuses names that the run does not have. Otherwise any are right.
  prof::Status (*check)(const Change&, const Simulator::Model&) = nullptr;
  /// True when waits of the host go, so that steady steps are replayed. Otherwise they stay.
  bool (*removesStalls)(const Change&, const Simulator::Model&) = nullptr;
  /// True when the change leaves the device's work as it is and only brings it sooner. Otherwise it
  /// does not.
  bool (*hastensHost)(const Change&) = nullptr;
  /// An assumption for people; may be empty. Otherwise there is none.
  std::string (*note)(const Change&, const Simulator::Model&) = nullptr;
  /// A comment on the prediction. Otherwise there is none.
  std::string (*resultNote)(const Change&, const Prediction&) = nullptr;
  /// True when Bound::Low and Bound::High differ from Bound::Likely.
  bool hasBounds = false;
  /// True when the change itself decides in which order queues work.
  bool ordersQueues = false;
  std::span<const CalibratedFactor> factors{};
  std::string_view factorsFrom{};  ///< with `factors`: where the built-in ones come from
};

}  // namespace lacuna::analyzer
