// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/scope.h"
#include "timeline/viewport.h"

/// Numbers and names as people read them.
namespace lacuna::gui {

/// A time at an axis, where nothing has no unit.
std::string axisText(double ns);
/// A moment since the trace's beginning, fine enough to separate neighbours `stepNs` apart.
std::string momentText(prof::TimeNs sinceStart, prof::TimeNs stepNs);
/// A counter's value in its unit ("bytes" are scaled, others are followed by the unit).
std::string valueText(double value, std::string_view unit);

/// A kernel's or function's name without template arguments, parameters and namespaces: what fits
/// on a label.
std::string shortName(std::string_view name);
/// So few characters of a name that was cut mean nothing.
inline constexpr int kFewestCharacters = 4;

/// The numbers that steps go by: those at the ends of their names ("ProfilerStep#1009") where they
/// rise from step to step, else their places.
std::vector<std::uint64_t> stepNumbers(const std::vector<analyzer::Step>& steps);
/// A step with its number, which its name may hold already: "ProfilerStep#1009", "step 3".
std::string stepText(const analyzer::Step& step, std::uint64_t number);

struct Tick {
  prof::TimeNs timeNs;
  double x;
  std::string label;
};
/// Round moments for a ruler, at least `spacing` pixels apart.
std::vector<Tick> ticks(const Viewport& view, int width, int spacing);

}  // namespace lacuna::gui
