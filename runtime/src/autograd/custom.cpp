// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <mutex>

#include "tensor/node.h"

namespace lacuna::rt {

struct CustomFunction::Parts {
  const OpInfo& info;
  Forward forward;
  Backward backward;
};

namespace {

std::string kindOf(const Tensor& tensor) {
  return std::string(name(tensor.dtype())) + tensor.shape().toString() + " on " +
         toString(tensor.device());
}

void customBackward(Node& node, const Tensor* gradOutputs, Tensor* gradInputs) {
  const auto parts = std::static_pointer_cast<const CustomFunction::Parts>(node.extra);
  const char* op = node.info->name.text;
  std::vector<Tensor> inputs, outputs;
  for (std::size_t i = 0; i < node.edges.size(); ++i) inputs.push_back(node.unpack(i));
  for (std::size_t i = 0; i < node.outputShapes.size(); ++i)
    outputs.push_back(node.unpack(inputs.size() + i));
  const std::vector<Tensor> given =
      parts->backward(inputs, outputs, {gradOutputs, gradOutputs + outputs.size()});
  if (given.size() != inputs.size()) {
    fail(op, "its backward gave " + std::to_string(given.size()) + " gradients for " +
                 std::to_string(inputs.size()) + " inputs");
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!node.wanted(i) || !given[i].defined()) continue;
    const bool fits = given[i].shape() == inputs[i].shape() &&
                      given[i].dtype() == inputs[i].dtype() &&
                      given[i].device() == inputs[i].device();
    if (!fits) {
      fail(op, "its backward gave " + kindOf(given[i]) + " as the gradient of input " +
                   std::to_string(i) + ", which is " + kindOf(inputs[i]));
    }
    gradInputs[i] = given[i];
  }
}

/// For good, as what was allocated in an operator bears its name.
const OpInfo& infoOf(std::string_view name) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, std::unique_ptr<const OpInfo>, std::less<>>;
  const std::lock_guard lock(mutex);
  const auto found = known.try_emplace(std::string(name)).first;
  if (!found->second)
    found->second = std::make_unique<const OpInfo>(found->first.c_str(), customBackward);
  return *found->second;
}

/// A tensor that a forward hands on as it came, an input or a parameter, gets a handle of its own
/// for a history of its own.
void ownHandles(std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, const Op& op) {
  if (outputs.empty()) op.fail("its forward gave no tensor");
  for (Tensor& output : outputs) {
    if (!output.defined()) op.fail("its forward gave an undefined tensor");
    bool isGiven = output.requiresGrad();
    for (const Tensor& input : inputs) isGiven = isGiven || input.impl() == output.impl();
    if (isGiven) output = output.detach();
    if (!op.needsGrad()) continue;
    if (!isFloating(output.dtype()))
      op.fail("its forward gave " + kindOf(output) + ", which can have no gradient");
    if (output.dtype() != outputs[0].dtype() || output.device() != outputs[0].device()) {
      op.fail("its forward gave " + kindOf(outputs[0]) + " and " + kindOf(output) +
              ", and gradients are of one type on one device");
    }
  }
}

}  // namespace

CustomFunction::CustomFunction(std::string_view name, Forward forward, Backward backward)
    : parts_(std::make_shared<const Parts>(
          Parts{infoOf(name), std::move(forward), std::move(backward)})) {
  if (!parts_->forward || !parts_->backward)
    fail(parts_->info.name.text, "needs a forward and a backward");
}

std::vector<Tensor> CustomFunction::operator()(const std::vector<Tensor>& inputs) const {
  std::vector<const Tensor*> given;
  std::vector<std::uint32_t> versions;
  for (const Tensor& input : inputs) {
    if (!input.defined())
      fail(parts_->info.name.text, "input " + std::to_string(given.size()) + " is undefined");
    given.push_back(&input);
    versions.push_back(input.version());
  }
  Op op(Op::MadeOfOthers(), parts_->info, given);
  std::vector<Tensor> outputs = [&] {
    const NoGrad guard;
    return parts_->forward(inputs);
  }();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].version() != versions[i])
      op.fail("its forward changed input " + std::to_string(i) + " in place");
  }
  ownHandles(outputs, inputs, op);
  std::vector<Tensor*> made;
  for (Tensor& output : outputs) made.push_back(&output);
  if (Node* node = op.record(given, made)) {
    for (const Tensor& input : inputs) node->save(input);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      node->saveOutput(outputs[i], static_cast<std::uint32_t>(i));
    node->extra = std::const_pointer_cast<Parts>(parts_);
  }
  return outputs;
}

}  // namespace lacuna::rt
