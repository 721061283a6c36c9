// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tensor/replay.h"

#include <algorithm>

#include "instrument/own_knobs.h"
#include "lacuna/runtime/autocast.h"

namespace lacuna::rt {

thread_local constinit Replay* tReplay = nullptr;

namespace {

thread_local constinit int tReplays = 0;

/// The state of the thread in which a segment ran, for as long as it is run again.
class AsInTheForward {
 public:
  AsInTheForward(RandomState random, const Name* module)
      : random_(randomState()),
        state_(instrument::tState),
        wanted_(std::exchange(tWanted, {})),
        mode_(GradMode::enabled()) {
    instrument::tState.direction = instrument::Direction::Forward;
    instrument::tState.module = module;
    setRandomState(random);
    GradMode::set(true);
    ++tReplays;
  }
  ~AsInTheForward() {
    --tReplays;
    GradMode::set(mode_);
    setRandomState(random_);
    tWanted = wanted_;
    instrument::tState = state_;
  }
  AsInTheForward(const AsInTheForward&) = delete;
  AsInTheForward& operator=(const AsInTheForward&) = delete;

 private:
  RandomState random_;
  instrument::ThreadState state_;
  std::span<const bool> wanted_;
  bool mode_;
};

class Running {
 public:
  Running(Replay* replay, std::vector<const TensorImpl*>& given, const std::vector<Tensor>& inputs)
      : before_(std::exchange(tReplay, replay)), given_(given) {
    for (const Tensor& input : inputs) given_.push_back(input.impl());
  }
  ~Running() {
    given_.clear();
    tReplay = before_;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Replay* before_;
  std::vector<const TensorImpl*>& given_;
};

}  // namespace

bool replaying() {
  return tReplays > 0;
}

Replay::Replay(CheckpointSegment segment, const std::vector<Tensor>& inputs)
    : segment_(std::move(segment)),
      random_(randomState()),
      module_(instrument::tState.module),
      autocast_(Autocast::enabled()),
      autocastType_(Autocast::type()) {
  for (const Tensor& input : inputs) inputs_.push_back(keep(input));
}

Replay::Input Replay::keep(const Tensor& input) const {
  Input out;
  if (!input.defined()) return out;
  out.requiresGrad = input.requiresGrad();
  if (tReplay != nullptr && !tReplay->staysAnyway(input)) {
    out.outer = tReplay->shared_from_this();
    out.number = tReplay->take(input);
  } else {
    out.kept = {input.detach(), input.version()};
  }
  return out;
}

Tensor Replay::checked(const Kept& kept, const char* what) {
  if (kept.tensor.defined() && kept.tensor.version() != kept.version) {
    fail("checkpoint", std::string(what) + ", " + kept.tensor.shape().toString() +
                           ", was changed in place since the forward: version " +
                           std::to_string(kept.tensor.version()) + ", kept at " +
                           std::to_string(kept.version));
  }
  return kept.tensor;
}

Tensor Replay::again(const Input& input) {
  const Tensor value =
      input.outer ? input.outer->get(input.number) : checked(input.kept, "an input");
  if (!value.defined()) return value;
  return value.detach().setRequiresGrad(input.requiresGrad);
}

std::vector<Tensor> Replay::forward(const std::vector<Tensor>& inputs) {
  const Running running(this, given_, inputs);
  return segment_(inputs);
}

bool Replay::staysAnyway(const Tensor& tensor) const {
  if (!tensor.isLeaf() || !tensor.requiresGrad()) return false;
  return std::find(given_.begin(), given_.end(), tensor.impl()) == given_.end();
}

std::uint32_t Replay::take(const Tensor& tensor) {
  if (!replays_) {
    taken_.push_back({tensor.shape(), tensor.dtype()});
    return static_cast<std::uint32_t>(taken_.size() - 1);
  }
  const std::size_t number = made_.size();
  const bool same = number < taken_.size() && taken_[number].shape == tensor.shape() &&
                    taken_[number].dtype == tensor.dtype();
  if (!same) {
    fail("checkpoint", "the segment did something else when it was run again: it saved " +
                           std::string(name(tensor.dtype())) + tensor.shape().toString() +
                           " as number " + std::to_string(number) + ", in the forward " +
                           (number < taken_.size() ? std::string(name(taken_[number].dtype)) +
                                                         taken_[number].shape.toString()
                                                   : "nothing"));
  }
  made_.push_back({tensor.detach(), tensor.version()});
  return static_cast<std::uint32_t>(number);
}

void Replay::run() {
  static const OpInfo kInfo{"recompute"};
  std::vector<Tensor> inputs;
  for (const Input& input : inputs_) inputs.push_back(again(input));
  const CompositeOp op(kInfo, {});
  const AsInTheForward state(random_, module_);
  const Autocast cast = autocast_ ? Autocast(autocastType_) : Autocast(false);
  const Running running(this, given_, inputs);
  replays_ = true;
  try {
    (void)segment_(inputs);
    if (made_.size() != taken_.size()) {
      fail("checkpoint", "the segment did something else when it was run again: it saved " +
                             std::to_string(made_.size()) + " tensors, in the forward " +
                             std::to_string(taken_.size()));
    }
  } catch (...) {
    made_.clear();
    throw;
  }
  inputs_.clear();
  segment_ = nullptr;
}

Tensor Replay::get(std::uint32_t number) {
  if (made_.empty()) run();
  if (!made_[number].tensor.defined())
    fail("checkpoint",
         "what it saved is gone: backward ran through this graph already; pass retainGraph = true "
         "the first time");
  return checked(made_[number], "a tensor that a gradient needs");
}

void Replay::drop(std::uint32_t number) {
  if (number < made_.size()) made_[number].tensor = {};
}

std::vector<Tensor> checkpoint(const CheckpointSegment& segment,
                               const std::vector<Tensor>& inputs) {
  if (!recording()) return segment(inputs);
  instrument::reportSwitch(instrument::OwnKnob::Checkpoint, true);
  return std::make_shared<Replay>(segment, inputs)->forward(inputs);
}

Tensor checkpoint(const std::function<Tensor(const Tensor&)>& segment, const Tensor& input) {
  const CheckpointSegment listed = [segment](const std::vector<Tensor>& inputs) {
    return std::vector<Tensor>{segment(inputs[0])};
  };
  return checkpoint(listed, {input})[0];
}

}  // namespace lacuna::rt
