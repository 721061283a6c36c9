// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "instrument/own_knobs.h"

#include <atomic>
#include <iterator>

#include "lacuna/runtime/instrument.h"

namespace lacuna::rt {

namespace instrument {
namespace {

#define LACUNA_RT_KNOB_NAME(constant, name) name,
constexpr std::string_view kKnobNames[] = {LACUNA_RT_OWN_KNOBS(LACUNA_RT_KNOB_NAME)};
#undef LACUNA_RT_KNOB_NAME
std::atomic<bool> gKnobReported[std::size(kKnobNames)];
std::atomic<bool> gReportsOwnKnobs{true};

}  // namespace

void reportKnobSlow(OwnKnob which, std::string_view value) {
  const auto at = static_cast<std::size_t>(which);
  if (!gReportsOwnKnobs.load(std::memory_order_relaxed) ||
      gKnobReported[at].load(std::memory_order_relaxed))
    return;
  if (!gKnobReported[at].exchange(true)) knob(kKnobNames[at], value);
}

void noteReportedKnob(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kKnobNames); ++i) {
    if (kKnobNames[i] == name) gKnobReported[i].store(true, std::memory_order_relaxed);
  }
}

}  // namespace instrument

void reportOwnKnobs(bool on) {
  instrument::gReportsOwnKnobs.store(on, std::memory_order_relaxed);
}

}  // namespace lacuna::rt
