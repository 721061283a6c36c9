// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/static_graph.h"

#include <algorithm>
#include <list>
#include <optional>
#include <utility>

#include "instrument/own_knobs.h"
#include "instrument/settings.h"
#include "lacuna/runtime/autocast.h"
#include "lacuna/runtime/backend.h"
#include "lacuna/runtime/error.h"
#include "tensor/node.h"
#include "tensor/trace.h"

namespace lacuna::rt {

namespace {

constexpr std::size_t kMostVariants = 8;
constexpr int kVainTraces = 4;  ///< in a row, without a replay between them

struct InputForm {
  Shape shape, strides;
  DType dtype;
  friend bool operator==(const InputForm&, const InputForm&) = default;
};

/// A trace fits a run of the same form.
struct Form {
  std::vector<InputForm> inputs;
  std::uint64_t key;
  bool gradients, autocast;
  DType autocastType;
  Backend backend;
  friend bool operator==(const Form&, const Form&) = default;
};

Form formOf(const std::vector<Tensor>& inputs, std::uint64_t key) {
  Form form{{}, key, GradMode::enabled(), Autocast::enabled(), Autocast::type(), backend()};
  for (const Tensor& input : inputs)
    form.inputs.push_back({input.shape(), input.strides(), input.dtype()});
  return form;
}

/// A form of runs, with its trace once there is one.
struct Variant {
  Form form;
  std::unique_ptr<graph::Trace> trace = {};
  std::uint64_t settings = 0;                  ///< when it was traced
  std::optional<graph::Likeness> before = {};  ///< of the trace before, while none is confirmed
  bool confirmed = false;
  bool gaveUp = false;
  int vain = 0;
  std::vector<Tensor> staged = {};  ///< memory for inputs that have to lie in one place
};

/// Why these cannot be the inputs of a trace.
std::string faultOf(const std::vector<Tensor>& inputs) {
  if (CpuQueue::chosenIndex() != 0) return "the thread enqueues to another queue than the first";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string which = "input " + std::to_string(i);
    if (!inputs[i].defined()) return which + " is not defined";
    if (inputs[i].device() != kCpu) return which + " is on " + toString(inputs[i].device());
    if (inputs[i].requiresGrad()) return which + " requires a gradient";
  }
  return "";
}

std::vector<Tensor> withoutHistory(std::vector<Tensor> results) {
  for (Tensor& result : results) {
    if (result.defined()) result = result.detach();
  }
  return results;
}

}  // namespace

struct StaticGraph::State {
  bool on;
  bool isAsSet = false;
  StaticGraphStats stats = {};
  std::list<Variant> variants = {};  ///< the one that ran last comes first

  void takeSetting() {
    if (std::exchange(isAsSet, true)) return;
    on = instrument::switchAsSet("static_graph", "rt::StaticGraph", on);
    instrument::reportSwitch(instrument::OwnKnob::StaticGraph, on);
  }

  Variant& variantOf(Form form) {
    const auto found = std::find_if(variants.begin(), variants.end(),
                                    [&](const Variant& known) { return known.form == form; });
    if (found != variants.end()) {
      variants.splice(variants.begin(), variants, found);
    } else {
      variants.emplace_front(Variant{std::move(form)});
      if (variants.size() > kMostVariants) variants.pop_back();
    }
    return variants.front();
  }

  void note(const std::string& why) {
    if (stats.reason == why) return;
    stats.reason = why;
    instrument::infoMark(LACUNA_RT_MSG_STATIC_GRAPH_LEFT);
  }

  std::vector<Tensor> plainly(const std::vector<Tensor>& inputs, const Function& function) {
    ++stats.plain;
    return withoutHistory(function(inputs));
  }

  /// The inputs, or copies of those that have to lie in one place.
  static std::vector<Tensor> placed(const Variant& variant, std::vector<Tensor> inputs) {
    const NoGrad guard;
    for (std::size_t i = 0; i < variant.staged.size(); ++i) {
      if (!variant.staged[i].defined()) continue;
      Tensor place = variant.staged[i];
      inputs[i] = place.copy_(inputs[i]);
    }
    return inputs;
  }

  std::vector<Tensor> record(Variant& variant, const std::vector<Tensor>& inputs,
                             const Function& function) {
    if (++variant.vain > kVainTraces) {
      variant.gaveUp = true;
      return plainly(inputs, function);
    }
    auto trace = std::make_unique<graph::Trace>();
    if (!trace->fault().empty()) {
      note(trace->fault());
      return plainly(inputs, function);
    }
    ++stats.traces;
    std::vector<Tensor> results = trace->record(inputs, function);
    if (accepts(variant, *trace, inputs)) {
      variant.trace = std::move(trace);
      variant.settings = graph::settings();  // the function may change and restore some itself
      instrument::infoMark(LACUNA_RT_MSG_STATIC_GRAPH_TRACED);
    }
    return results;
  }

  /// One trace shows what one run did; two that are alike show what the function does.
  bool accepts(Variant& variant, const graph::Trace& trace, const std::vector<Tensor>& inputs) {
    if (!trace.fault().empty()) return note(trace.fault()), false;
    if (stage(variant, trace, inputs)) return false;
    if (variant.confirmed) return true;
    graph::Likeness likeness = trace.likeness();
    const std::optional<graph::Likeness> before =
        std::exchange(variant.before, std::move(likeness));
    if (!before) return false;
    const std::string difference = variant.before->differenceFrom(*before);
    if (!difference.empty()) return note(difference), false;
    variant.before.reset();
    return variant.confirmed = true;
  }

  /// True where an input gets a place of its own from now on.
  static bool stage(Variant& variant, const graph::Trace& trace,
                    const std::vector<Tensor>& inputs) {
    bool any = false;
    variant.staged.resize(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!trace.unmovable()[i] || variant.staged[i].defined()) continue;
      variant.staged[i] = empty(inputs[i].shape(), {inputs[i].dtype(), kCpu, Role::Input});
      any = true;
    }
    if (any) --variant.vain;
    return any;
  }

  std::vector<Tensor> run(Variant& variant, const std::vector<Tensor>& inputs,
                          const Function& function) {
    if (variant.gaveUp) return plainly(inputs, function);
    const std::vector<Tensor> given = placed(variant, inputs);
    if (variant.trace) {
      const std::string why = variant.settings != graph::settings()
                                  ? "a module's mode, a parameter or a hook has changed"
                                  : variant.trace->mismatch();
      if (why.empty()) {
        ++stats.replays;
        variant.vain = 0;
        stats.launches = variant.trace->launches();
        return variant.trace->replay(given);
      }
      note(why);
      variant.trace.reset();
    }
    return record(variant, given, function);
  }
};

StaticGraph::StaticGraph(bool on) : state_(std::make_unique<State>(State{on})) {}
StaticGraph::~StaticGraph() = default;

std::vector<Tensor> StaticGraph::run(const std::vector<Tensor>& inputs, const Function& function,
                                     std::uint64_t key) {
  if (graph::tracing()) return function(inputs);
  state_->takeSetting();
  if (!state_->on) return state_->plainly(inputs, function);
  if (const std::string fault = faultOf(inputs); !fault.empty()) {
    state_->note(fault);
    return state_->plainly(inputs, function);
  }
  return state_->run(state_->variantOf(formOf(inputs, key)), inputs, function);
}

Tensor StaticGraph::run(const std::vector<Tensor>& inputs,
                        const std::function<Tensor(const std::vector<Tensor>& inputs)>& function,
                        std::uint64_t key) {
  const Function listed = [&](const std::vector<Tensor>& given) {
    return std::vector<Tensor>{function(given)};
  };
  return run(inputs, listed, key)[0];
}

void StaticGraph::reset() {
  state_->variants.clear();
}

StaticGraphStats StaticGraph::stats() const {
  StaticGraphStats stats = state_->stats;
  stats.on = state_->on;
  return stats;
}

void onHost(const std::function<void()>& action) {
  graph::onHost({}, action);
}

}  // namespace lacuna::rt
