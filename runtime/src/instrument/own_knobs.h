// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "instrument/observer.h"

/// Knobs that the runtime knows by itself. The first value of each that a process reports stays,
/// the program's own or the runtime's. So a second loader, such as one for validation, changes
/// nothing.
namespace lacuna::rt::instrument {

#define LACUNA_RT_OWN_KNOBS(KNOB)           \
  KNOB(LoaderWorkers, "loader.workers")     \
  KNOB(LoaderPrefetch, "loader.prefetch")   \
  KNOB(LoaderPin, "loader.pin")             \
  KNOB(LoaderProcesses, "loader.processes") \
  KNOB(LoaderDtype, "loader.dtype")         \
  KNOB(Batch, "batch")                      \
  KNOB(Fused, "optimizer.fused")            \
  KNOB(ZeroGrad, "zero_grad")               \
  KNOB(Debug, "debug")                      \
  KNOB(Checkpoint, "checkpoint")            \
  KNOB(Amp, "amp")                          \
  KNOB(Backend, "backend")                  \
  KNOB(StaticGraph, "static_graph")

#define LACUNA_RT_KNOB_CONSTANT(constant, name) constant,
enum class OwnKnob : std::uint8_t { LACUNA_RT_OWN_KNOBS(LACUNA_RT_KNOB_CONSTANT) };
#undef LACUNA_RT_KNOB_CONSTANT

void reportKnobSlow(OwnKnob which, std::string_view value);
inline void reportKnob(OwnKnob knob, std::string_view value) {
  if ((sinks() & kNvtxSink) != 0) [[unlikely]]
    reportKnobSlow(knob, value);
}
inline void reportSwitch(OwnKnob knob, bool on) {
  reportKnob(knob, on ? "on" : "off");
}
/// The program reported this knob itself.
void noteReportedKnob(std::string_view name);

}  // namespace lacuna::rt::instrument
