// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/python_line_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer::of_python_lines {
namespace {

using prof::TimeWindow;

/// The parts of a line's time stand in the ratio of these samples at least; fewer show no ratio.
constexpr std::uint64_t kLeastRatioSamples = 3;

/// The devices have nothing to do for longer than a call of an operator takes.
bool isInLongGap(const Sample& sample, std::int64_t longPauseNs) {
  const bool isOpen = sample.idleFromNs == INT64_MIN || sample.idleToNs == INT64_MAX;
  return isOpen || sample.idleToNs - sample.idleFromNs >= longPauseNs;
}

bool isAsleep(const Sample& sample) {
  return sample.state == prof::ThreadState::Sleeping || sample.state == prof::ThreadState::Blocked;
}

void countIdle(LineSum& sum, const Sample& sample, bool isFrameworks, bool isNap) {
  PythonLine& line = sum.line;
  prof::addTo(line.idleNs, sample.weightNs);
  if (isNap) prof::addTo(line.napsNs, sample.weightNs);
  if (isAsleep(sample)) {
    prof::addTo(line.asleepNs, sample.weightNs);
  } else if (isFrameworks) {
    prof::addTo(line.frameworkNs, sample.weightNs);
  }
  ++line.idleSamples;
  const TimeWindow seen{sample.timeNs - sample.weightNs, sample.timeNs};
  // A line that sample after sample sees is one stretch.
  if (!sum.idle.empty() && seen.startNs <= sum.idle.back().endNs) {
    sum.idle.back().endNs = seen.endNs;
  } else {
    sum.idle.push_back(seen);
  }
}

void count(LineSum& sum, const Sample& sample, bool isFrameworks, bool isBeside,
           std::int64_t longPauseNs) {
  PythonLine& line = sum.line;
  ++line.samples;
  const std::int64_t ns = sample.weightNs;
  prof::addTo(line.ns, ns);
  if (sample.phase) prof::addTo(sum.phases[sample.phase], ns);
  switch (sample.activity) {
    case Activity::Launch:
    case Activity::Operator:
      prof::addTo(line.operatorsNs, ns);
      if (!isBeside || sample.isStalled) return;
      ++line.sideSamples;
      return prof::addTo(line.sideNs, ns);
    case Activity::LoaderWait:
      return prof::addTo(line.loaderNs, ns);
    case Activity::Driver:
    case Activity::Sync:
      return prof::addTo(line.deviceNs, ns);
    case Activity::None:
    case Activity::Annotation:
    case Activity::OffCpu:
    case Activity::Profiler:
      prof::addTo(line.hostNs, ns);
  }
  if (sample.isDeviceBusy || sample.isStalled) return;
  const bool isLong = isInLongGap(sample, longPauseNs);
  // A call of an operator does not sleep, so a pause of any length counts in which the program
  // does. The framework's own code may wait for its other threads.
  const bool isNap = !isLong && !isFrameworks && isAsleep(sample);
  if (isLong || isNap) countIdle(sum, sample, isFrameworks, isNap);
}

template <class Names>
auto longestOf(const Names& names) {
  return std::ranges::max_element(names, {}, [](const auto& entry) { return entry.second; });
}

constexpr std::array kTimes{&PythonLine::ns,          &PythonLine::operatorsNs,
                            &PythonLine::loaderNs,    &PythonLine::deviceNs,
                            &PythonLine::hostNs,      &PythonLine::idleNs,
                            &PythonLine::asleepNs,    &PythonLine::napsNs,
                            &PythonLine::frameworkNs, &PythonLine::sideNs};

std::int64_t scaled(std::int64_t value, double factor) {
  return static_cast<std::int64_t>(std::llround(static_cast<double>(value) * factor));
}

/// Makes the sum of steps in detail the mean of all steps. What the line does is as in the steps
/// in detail; how long it takes, samples of plain steps show as well.
void addPlain(LineSum& sum, StepCounts steps) {
  PythonLine& line = sum.line;
  const PlainSamples& plain = sum.plain;
  if (steps.plain == 0 || line.samples < kLeastRatioSamples || line.ns == 0) return;
  const double more = static_cast<double>(plain.ns) / static_cast<double>(line.ns);
  const double moreSteps = static_cast<double>(steps.plain) /
                           static_cast<double>(std::max<std::int64_t>(1, steps.detailed));
  const double factor = (1 + more) / (1 + moreSteps);
  for (const auto time : kTimes) line.*time = scaled(line.*time, factor);
  const double ofSamples =
      1 + static_cast<double>(plain.samples) / static_cast<double>(line.samples);
  for (std::uint64_t* samples : {&line.samples, &line.idleSamples, &line.sideSamples})
    *samples = static_cast<std::uint64_t>(static_cast<double>(*samples) * ofSamples);
}

/// A line's samples that saw the thread asleep, and those that did not.
void join(LineSum& sum, LineSum& other) {
  for (const auto time : kTimes) prof::addTo(sum.line.*time, other.line.*time);
  sum.line.samples += other.line.samples;
  sum.line.idleSamples += other.line.idleSamples;
  sum.line.sideSamples += other.line.sideSamples;
  for (const auto& [name, ns] : other.inside) prof::addTo(sum.inside[name], ns);
  for (const auto& [name, ns] : other.phases) prof::addTo(sum.phases[name], ns);
  sum.idle.insert(sum.idle.end(), other.idle.begin(), other.idle.end());
}

PythonLine finished(LineSum&& sum, const Store& store, std::int64_t parts) {
  PythonLine line = std::move(sum.line);
  if (const auto most = longestOf(sum.inside);
      most != sum.inside.end() && 2 * most->second >= line.ns)
    line.inside = most->first;
  if (const auto most = longestOf(sum.phases);
      most != sum.phases.end() && 2 * most->second >= line.ns)
    line.phase = store.text(most->first);
  keepLongest(sum.idle);
  line.idle = std::move(sum.idle);
  for (const auto time : kTimes) line.*time /= parts;
  return line;
}

}  // namespace

void LineSums::take(const Sample& sample, bool ofLoader, bool isBeside) {
  const PythonPlace* place = places_.of(sample.stack, ofLoader);
  if (place == nullptr) return;
  LineSum& sum = sumOf(*place, sample);
  if (!place->inside.empty()) prof::addTo(sum.inside[place->inside], sample.weightNs);
  count(sum, sample, place->isFrameworks, isBeside, longPauseNs_);
  ++samples_;
}

void LineSums::takePlain(const Sample& sample) {
  const PythonPlace* place = places_.of(sample.stack, false);
  if (place == nullptr) return;
  PlainSamples& plain = sumOf(*place, sample).plain;
  prof::addTo(plain.ns, sample.weightNs);
  ++plain.samples;
  ++samples_;
}

std::vector<PythonLine> LineSums::lines(StepCounts steps) {
  std::vector<PythonLine> lines;
  for (auto& [key, sum] : joined(steps))
    lines.push_back(finished(std::move(sum), store_, std::max<std::int64_t>(1, steps.detailed)));
  std::ranges::sort(lines, [](const PythonLine& a, const PythonLine& b) {
    return std::tie(b.ns, a.place, a.function) < std::tie(a.ns, b.place, b.function);
  });
  return lines;
}

LineSum& LineSums::sumOf(const PythonPlace& place, const Sample& sample) {
  LineSum& sum = sums_[{place.file, place.function, place.line, isAsleep(sample)}];
  if (!sum.line.place.empty()) return sum;
  sum.line.place = place.place(store_);
  sum.line.function = store_.text(place.function);
  sum.line.file = store_.text(place.file);
  sum.line.line = place.line;
  return sum;
}

std::map<LineSums::Key, LineSum> LineSums::joined(StepCounts steps) {
  std::map<Key, LineSum> lines;
  for (auto& [key, sum] : sums_) {
    if (sum.line.samples == 0) continue;
    addPlain(sum, steps);
    const auto& [file, function, line, isAsleep] = key;
    const auto [at, isNew] = lines.try_emplace({file, function, line, false});
    if (isNew) {
      at->second = std::move(sum);
    } else {
      join(at->second, sum);
    }
  }
  return lines;
}

}  // namespace lacuna::analyzer::of_python_lines
