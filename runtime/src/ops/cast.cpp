// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/cast.h"

#include <utility>

#include "instrument/own_knobs.h"

namespace lacuna::rt {

thread_local constinit bool tAutocast = false;

Autocast::Autocast(bool on) : before_(std::exchange(tAutocast, on)) {
  if (on) instrument::tellSwitch(instrument::OwnKnob::Amp, true);
}
Autocast::~Autocast() {
  tAutocast = before_;
}
bool Autocast::enabled() {
  return tAutocast;
}

}  // namespace lacuna::rt
