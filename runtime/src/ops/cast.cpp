// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "ops/cast.h"

#include <unordered_map>
#include <utility>

#include "instrument/own_knobs.h"
#include "ops/kept_weights.h"
#include "tensor/node.h"
#include "tensor/replay.h"

namespace lacuna::rt {

thread_local constinit bool tAutocast = false;
thread_local constinit DType tAutocastType = DType::BF16;

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
  return held.version == held.weight.version() && held.copy.dtype() == tAutocastType &&
         !held.copy.impl()->autograd->gradFn->freed;
}

Tensor recordedShortOf(const Tensor& leaf) {
  ShortCopy& held = shortCopies()[leaf.impl()];
  if (!held.copy.defined() || !serves(held)) held = {leaf, leaf.to(tAutocastType), leaf.version()};
  return held.copy;
}

}  // namespace

Tensor shortOf(const Tensor& x) {
  if (!x.defined() || x.dtype() == tAutocastType) return x;
  const bool records = recording() && x.requiresGrad();
  if (!records) return keptShort(x, tAutocastType);
  dropKeptWeights(x);
  // A checkpoint's segment makes again what it makes: it keeps nothing.
  const bool inSegment = tReplay != nullptr || replaying();
  return x.isLeaf() && !inSegment ? recordedShortOf(x) : x.to(tAutocastType);
}

void forgetShortCopies() {
  shortCopies().clear();
}

Autocast::Autocast(bool on) : before_(std::exchange(tAutocast, on)), typeBefore_(tAutocastType) {
  if (!on) return;
  tAutocastType = DType::BF16;
  instrument::reportSwitch(instrument::OwnKnob::Amp, true);
}
Autocast::Autocast(DType type) : before_(tAutocast), typeBefore_(tAutocastType) {
  if (!isShort(type))
    fail("Autocast", std::string("products in ") + name(type) + "; choose bf16 or f16");
  tAutocast = true;
  tAutocastType = type;
  instrument::reportKnob(instrument::OwnKnob::Amp, type == DType::BF16 ? "on" : name(type));
}
Autocast::~Autocast() {
  tAutocast = before_;
  tAutocastType = typeBefore_;
  if (!before_) forgetShortCopies();
}
bool Autocast::enabled() {
  return tAutocast;
}
DType Autocast::type() {
  return tAutocastType;
}

}  // namespace lacuna::rt
