// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/cast.h"

#include <unordered_map>
#include <utility>

#include "autograd/node.h"
#include "autograd/replay.h"
#include "instrument/own_knobs.h"
#include "ops/kept_weights.h"

namespace lacuna::rt {

thread_local constinit bool tAutocast = false;

namespace {

struct ShortCopy {
  Tensor weight, copy;
  std::uint32_t version;
};
using ShortCopies = std::unordered_map<const TensorImpl*, ShortCopy>;

/// Copies of leaves, made while gradients are recorded.
ShortCopies& shortCopies() {
  thread_local ShortCopies copies;
  return copies;
}

bool serves(const ShortCopy& held) {
  return held.version == held.weight.version() && !held.copy.impl()->autograd->gradFn->freed;
}

Tensor recordedShortOf(const Tensor& leaf) {
  ShortCopy& held = shortCopies()[leaf.impl()];
  if (!held.copy.defined() || !serves(held)) held = {leaf, leaf.to(DType::BF16), leaf.version()};
  return held.copy;
}

}  // namespace

Tensor shortOf(const Tensor& x) {
  if (!x.defined() || x.dtype() == DType::BF16) return x;
  const bool records = recording() && x.requiresGrad();
  if (!records) return keptShort(x);
  dropKeptWeights(x);
  // A checkpoint's segment makes again what it makes: it keeps nothing.
  const bool inSegment = tReplay != nullptr || replaying();
  return x.isLeaf() && !inSegment ? recordedShortOf(x) : x.to(DType::BF16);
}

void forgetShortCopies() {
  shortCopies().clear();
}

Autocast::Autocast(bool on) : before_(std::exchange(tAutocast, on)) {
  if (on) instrument::reportSwitch(instrument::OwnKnob::Amp, true);
}
Autocast::~Autocast() {
  tAutocast = before_;
  if (!before_) forgetShortCopies();
}
bool Autocast::enabled() {
  return tAutocast;
}

}  // namespace lacuna::rt
