// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
/// The answers that findings take from the lines of Python programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

#include "analyses/work/python_lines.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

constexpr std::size_t kMostStretches = 3;

/// Lines that are so near each other are of one loop or one statement, as a rule.
constexpr std::uint32_t kNear = 2;

bool isOneWith(const PythonLine& line, const PythonLine& next) {
  return line.file == next.file && line.function == next.function && line.inside == next.inside &&
         next.line - line.line <= kNear;
}

std::int64_t idleNsOf(const PythonLine& line, IdleTime counted) {
  if (counted == IdleTime::All) return line.idleNs;
  return counted == IdleTime::Asleep ? line.asleepNs : line.idleNs - line.asleepNs;
}

/// The part of a line that a finding is about.
struct Counted {
  std::int64_t ns;
  std::uint64_t samples;
};

template <class CountedOf>
PythonStretch stretchOf(std::span<const PythonLine* const> lines, const CountedOf& countedOf) {
  const PythonLine& first = *lines.front();
  PythonStretch place;
  place.text = first.place;
  if (lines.size() > 1) place.text += fmt::format("–{}", lines.back()->line);
  place.text +=
      fmt::format(" in {}{}{}", first.function, first.inside.empty() ? "" : " → ", first.inside);
  for (const PythonLine* line : lines) {
    const Counted counted = countedOf(*line);
    prof::addTo(place.ns, counted.ns);
    place.samples += counted.samples;
    place.idle.insert(place.idle.end(), line->idle.begin(), line->idle.end());
  }
  keepLongest(place.idle);
  return place;
}

/// The places that take longest of so much time of a step: those that enough samples saw.
template <class CountedOf>
std::vector<PythonStretch> longestPlaces(std::span<const PythonLine> all, std::int64_t nsPerStep,
                                         const CountedOf& countedOf) {
  std::vector<const PythonLine*> lines;
  for (const PythonLine& line : all) {
    if (countedOf(line).samples > 0) lines.push_back(&line);
  }
  std::ranges::sort(lines, [](const PythonLine* a, const PythonLine* b) {
    return std::tie(a->file, a->function, a->line, a->inside) <
           std::tie(b->file, b->function, b->line, b->inside);
  });
  std::vector<PythonStretch> places;
  for (std::size_t begin = 0, end = 0; begin < lines.size(); begin = end) {
    for (end = begin + 1; end < lines.size() && isOneWith(*lines[end - 1], *lines[end]);) ++end;
    PythonStretch place = stretchOf(std::span(lines).subspan(begin, end - begin), countedOf);
    const bool isLong =
        static_cast<double>(place.ns) >= kLeastOfWait * static_cast<double>(nsPerStep);
    if (isLong && place.samples >= kLeastLineSamples) places.push_back(std::move(place));
  }
  std::ranges::stable_sort(places, std::greater(), &PythonStretch::ns);
  places.resize(std::min(places.size(), kMostPlaces));
  return places;
}

}  // namespace

void keepLongest(std::vector<prof::TimeWindow>& stretches) {
  std::ranges::stable_sort(stretches, {},
                           [](const prof::TimeWindow& one) { return one.startNs - one.endNs; });
  stretches.resize(std::min(stretches.size(), kMostStretches));
}

std::vector<PythonStretch> PythonLines::waitedFor(std::int64_t nsPerStep, IdleTime counted) const {
  if (!statesKnown) counted = IdleTime::All;
  return longestPlaces(step, nsPerStep, [&](const PythonLine& line) {
    return Counted{idleNsOf(line, counted), line.idleSamples};
  });
}

std::vector<PythonStretch> PythonLines::beside(std::int64_t nsPerStep) const {
  auto places = longestPlaces(step, nsPerStep, [](const PythonLine& line) {
    return Counted{line.sideNs, line.sideSamples};
  });
  // Devices did not wait for this work: on a CPU it is the device's.
  for (PythonStretch& place : places) place.idle.clear();
  return places;
}

std::int64_t PythonLines::frameworkNs() const {
  std::int64_t ns = 0;
  std::uint64_t idleSamples = 0;
  for (const PythonLine& line : step) {
    prof::addTo(ns, line.frameworkNs);
    idleSamples += line.idleSamples;
  }
  return idleSamples >= kLeastLineSamples ? ns : 0;
}

std::int64_t PythonLines::seenProgramsNs() const {
  const bool sleepIsMeasured = asleepNs().has_value();  // then it has a finding of its own
  std::int64_t ns = 0;
  for (const PythonLine& line : step)
    prof::addTo(ns, line.idleNs - line.frameworkNs - (sleepIsMeasured ? line.asleepNs : 0));
  return ns;
}

std::optional<std::int64_t> PythonLines::programsNs() const {
  if (samples < kLeastStepSamples) return std::nullopt;
  return seenProgramsNs();
}

std::optional<std::int64_t> PythonLines::programsMostNs() const {
  if (samples == 0) return std::nullopt;
  std::int64_t programsNs = seenProgramsNs(), allNs = 0;
  for (const PythonLine& line : step) prof::addTo(allNs, line.ns);
  const double sampleNs = std::max(1.0, static_cast<double>(allNs) / static_cast<double>(samples));
  // Where no sample saw such a line, one might have.
  const double seen = std::max(1.0, static_cast<double>(programsNs) / sampleNs);
  prof::addTo(programsNs, static_cast<std::int64_t>(sampleNs * std::sqrt(seen)));
  return programsNs;
}

std::optional<std::int64_t> PythonLines::asleepNs() const {
  if (samples < kLeastStepSamples || !statesKnown) return std::nullopt;
  std::int64_t ns = 0;
  for (const PythonLine& line : step) prof::addTo(ns, line.asleepNs);
  return ns;
}

std::int64_t PythonLines::napsNs() const {
  std::int64_t ns = 0;
  for (const PythonLine& line : step) prof::addTo(ns, line.napsNs);
  return asleepNs() ? ns : 0;
}

std::string listOf(const std::vector<PythonStretch>& places) {
  std::string out;
  for (const PythonStretch& place : places)
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", place.text, prof::timeText(place.ns));
  return out;
}

}  // namespace lacuna::analyzer
