// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "lacuna/prof/amounts.h"

namespace lacuna::gui {

using prof::TimeNs;

std::string axisText(double ns) {
  return ns == 0 ? "0" : prof::timeText(ns);
}

std::string valueText(double value, std::string_view unit) {
  if (unit == "bytes") return prof::bytesText(value);
  if (unit == "bytes/s") return prof::rateText(value);
  if (unit == "ns") return prof::timeText(value);
  const std::string number =
      std::abs(value) >= 10000 ? prof::scaledCount(value) : fmt::format("{:.4g}", value);
  if (unit.empty()) return number;
  if (unit == "1/s") return number + "/s";
  if (unit.starts_with("percent")) return fmt::format("{} %{}", number, unit.substr(7));
  return fmt::format("{} {}", number, unit);
}

std::string momentText(TimeNs sinceStart, TimeNs stepNs) {
  struct Unit {
    TimeNs ns;
    const char* name;
  };
  static constexpr std::array<Unit, 4> kUnits{
      {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1000, "µs"}, {1, "ns"}}};
  const TimeNs size = std::abs(sinceStart);
  const Unit* unit = &kUnits[3];
  for (const Unit& candidate : kUnits) {
    if (size >= candidate.ns || (size == 0 && stepNs >= candidate.ns)) {
      unit = &candidate;
      break;
    }
  }
  int digits = 0;
  for (TimeNs left = unit->ns; left > stepNs && left > 1; left /= 10) ++digits;
  return fmt::format("{:.{}f} {}", static_cast<double>(sinceStart) / static_cast<double>(unit->ns),
                     digits, unit->name);
}

std::string shortName(std::string_view name) {
  std::string out;
  int depth = 0;
  const bool signature = name.starts_with("void ") || name.find("::") != std::string_view::npos;
  if (!signature || name.starts_with("aten::") || name.find('<') == std::string_view::npos)
    return std::string(name);
  if (name.starts_with("void ")) name.remove_prefix(5);
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with("(anonymous namespace)")) {
      i += 20;
      continue;
    }
    if (name[i] == '<' || name[i] == '(') {
      if (depth == 0 && name[i] == '(') break;
      ++depth;
    } else if (name[i] == '>' || name[i] == ')') {
      --depth;
    } else if (depth == 0) {
      out += name[i];
    }
  }
  const auto cut = out.rfind("::");
  if (cut != std::string::npos && cut + 2 < out.size()) out.erase(0, cut + 2);
  return out.empty() ? std::string(name) : out;
}

namespace {

/// The number at the end of a name; none where there is no digit or too many of them.
std::optional<std::uint64_t> lastNumber(std::string_view name) {
  const std::size_t from = name.find_last_not_of("0123456789") + 1;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + from, name.data() + name.size(), number);
  if (from == name.size() || error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

std::vector<std::uint64_t> stepNumbers(const std::vector<analyzer::Step>& steps) {
  std::vector<std::uint64_t> named, places;
  for (const analyzer::Step& step : steps) {
    places.push_back(step.index);
    const auto number = lastNumber(step.name);
    if (number && (named.empty() || *number > named.back())) named.push_back(*number);
  }
  return named.size() == steps.size() ? named : places;
}

std::string stepText(const analyzer::Step& step, std::uint64_t number) {
  return lastNumber(step.name) == number ? step.name : fmt::format("{} {}", step.name, number);
}

std::vector<Tick> ticks(const Viewport& view, int width, int spacing) {
  const double least = std::max(1.0, view.nsPerPixel(width) * spacing);
  double step = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (step * factor >= least * 0.999) {
      step *= factor;
      break;
    }
  }
  const auto stepNs = static_cast<TimeNs>(std::llround(step));
  const TimeNs zero = view.trace().startNs;
  TimeNs at = (view.startNs() - zero) / stepNs * stepNs;
  if (at < view.startNs() - zero) at += stepNs;
  std::vector<Tick> out;
  for (; at <= view.endNs() - zero; at += stepNs) {
    out.push_back({zero + at, view.pixelAt(zero + at, width), momentText(at, stepNs)});
  }
  return out;
}

}  // namespace lacuna::gui
