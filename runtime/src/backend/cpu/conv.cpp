// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/conv_reference.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/parallel.h"
#include "backend/nn_kernels.h"

/// Convolutions through oneDNN on channels-last pictures, with primitives and their arguments cached. The library wants
/// its own order of the weights, and sometimes of the pictures; they are brought into it in a scratch buffer.
namespace lacuna::rt {

using cpu::Library;
using dnnl::memory;

namespace {

enum class Pass : char { Forward, Data, Weights };

/// An operand as the caller has it, and as the library wants it: the same memory, or a scratch copy.
struct Operand {
  memory own, held;
  dnnl::primitive reorder;
  bool staged = false;
  std::size_t offset = 0;  ///< in the scratch buffer
};

struct Plan {
  dnnl::primitive primitive;
  Operand x, y, weight;
  memory bias;
  std::size_t scratchBytes = 0;
  std::unordered_map<int, memory> arguments;
};

struct Geometry {
  memory::desc x, y, weight, bias;  ///< in the orders that the library may choose from
  memory::desc ownX, ownY, ownWeight;
  memory::dims stride, dilation, padding, paddingEnd;
};

/// Channels last suits the library nearly as well as its own orders. Where pictures are smaller than the weights, its
/// own are much faster and copying the pictures costs little; for the gradient of the weights they are not. The choice
/// depends on shapes alone, so that equal runs give equal numbers.
bool ownOrderPays(Pass pass, const View& x, const View& y, const View& weight) {
  return pass != Pass::Weights && x.shape.numel() < weight.shape.numel() && y.shape.numel() < weight.shape.numel();
}

Geometry geometryOf(Pass pass, const View& x, const View& y, const View& weight, const kernel::ConvArguments& a) {
  const auto dims = [](const Shape& shape) { return memory::dims(shape.begin(), shape.end()); };
  const memory::data_type type = cpu::libraryType(x.dtype);
  memory::dims w = dims(weight.shape);
  auto order = memory::format_tag::oihw;
  if (a.groups > 1) {
    w.insert(w.begin(), a.groups);
    w[1] /= a.groups;
    order = memory::format_tag::goihw;
  }
  Geometry g;
  const auto picture = ownOrderPays(pass, x, y, weight) ? memory::format_tag::any : memory::format_tag::nhwc;
  g.ownX = {dims(x.shape), type, memory::format_tag::nhwc};
  g.ownY = {dims(y.shape), type, memory::format_tag::nhwc};
  g.ownWeight = {w, type, order};
  g.x = {dims(x.shape), type, picture};
  g.y = {dims(y.shape), type, picture};
  g.weight = {w, type, memory::format_tag::any};
  g.bias = {{y.shape[1]}, type, memory::format_tag::x};
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t reach = (weight.shape[2 + i] - 1) * a.dilation[at] + 1;
    g.stride.push_back(a.stride[at]);
    g.dilation.push_back(a.dilation[at] - 1);
    g.padding.push_back(a.padding[at]);
    g.paddingEnd.push_back((y.shape[2 + i] - 1) * a.stride[at] + reach - x.shape[2 + i] - a.padding[at]);
  }
  return g;
}

dnnl::convolution_forward::primitive_desc forwardOf(const Geometry& g, bool bias, const dnnl::engine& engine) {
  constexpr auto kKind = dnnl::prop_kind::forward_training;
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  if (bias)
    return {{kKind, kAlgorithm, g.x, g.weight, g.bias, g.y, g.stride, g.dilation, g.padding, g.paddingEnd}, engine};
  return {{kKind, kAlgorithm, g.x, g.weight, g.y, g.stride, g.dilation, g.padding, g.paddingEnd}, engine};
}

Operand operandOf(Plan& plan, const memory::desc& own, const memory::desc& wanted, bool isOutput,
                  const dnnl::engine& engine) {
  Operand operand;
  operand.own = memory(own, engine, nullptr);
  operand.staged = own != wanted;
  operand.held = operand.staged ? memory(wanted, engine, nullptr) : operand.own;
  if (!operand.staged) return operand;
  operand.reorder = isOutput ? dnnl::reorder(operand.held, operand.own) : dnnl::reorder(operand.own, operand.held);
  operand.offset = plan.scratchBytes;
  constexpr std::size_t kLine = 64;
  plan.scratchBytes += (wanted.get_size() + kLine - 1) / kLine * kLine;
  return operand;
}

Plan makePlan(Pass pass, const Geometry& g, bool bias, const dnnl::engine& engine) {
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  const auto forward = forwardOf(g, bias, engine);
  Plan plan;
  plan.bias = memory(g.bias, engine, nullptr);
  const auto setUp = [&](const memory::desc& x, const memory::desc& y, const memory::desc& weight) {
    plan.x = operandOf(plan, g.ownX, x, pass == Pass::Data, engine);
    plan.y = operandOf(plan, g.ownY, y, pass == Pass::Forward, engine);
    plan.weight = operandOf(plan, g.ownWeight, weight, pass == Pass::Weights, engine);
  };
  if (pass == Pass::Forward) {
    plan.primitive = dnnl::convolution_forward(forward);
    setUp(forward.src_desc(), forward.dst_desc(), forward.weights_desc());
    plan.arguments = {{DNNL_ARG_SRC, plan.x.held}, {DNNL_ARG_WEIGHTS, plan.weight.held}, {DNNL_ARG_DST, plan.y.held}};
    if (bias) plan.arguments.emplace(DNNL_ARG_BIAS, plan.bias);
  } else if (pass == Pass::Data) {
    const dnnl::convolution_backward_data::primitive_desc data(
        {kAlgorithm, g.x, g.weight, g.y, g.stride, g.dilation, g.padding, g.paddingEnd}, engine, forward);
    plan.primitive = dnnl::convolution_backward_data(data);
    setUp(data.diff_src_desc(), data.diff_dst_desc(), data.weights_desc());
    plan.arguments = {
        {DNNL_ARG_DIFF_SRC, plan.x.held}, {DNNL_ARG_WEIGHTS, plan.weight.held}, {DNNL_ARG_DIFF_DST, plan.y.held}};
  } else {
    using Desc = dnnl::convolution_backward_weights::desc;
    const auto description =
        bias ? Desc(kAlgorithm, g.x, g.weight, g.bias, g.y, g.stride, g.dilation, g.padding, g.paddingEnd)
             : Desc(kAlgorithm, g.x, g.weight, g.y, g.stride, g.dilation, g.padding, g.paddingEnd);
    const dnnl::convolution_backward_weights::primitive_desc weights(description, engine, forward);
    plan.primitive = dnnl::convolution_backward_weights(weights);
    setUp(weights.src_desc(), weights.diff_dst_desc(), weights.diff_weights_desc());
    plan.arguments = {
        {DNNL_ARG_SRC, plan.x.held}, {DNNL_ARG_DIFF_WEIGHTS, plan.weight.held}, {DNNL_ARG_DIFF_DST, plan.y.held}};
    if (bias) plan.arguments.emplace(DNNL_ARG_DIFF_BIAS, plan.bias);
  }
  return plan;
}

void bind(Operand& operand, void* data, std::byte* scratch) {
  operand.own.set_data_handle(data);
  if (operand.staged) operand.held.set_data_handle(scratch + operand.offset);
}

void run(Pass pass, const View& x, const View& y, const View& weight, const View& bias,
         const kernel::ConvArguments& arguments) {
  if (x.dtype == DType::F16) throw Error("f16 convolutions are not supported on the CPU; use bf16 or f32");
  threadCount();
  Library& held = cpu::library();
  thread_local std::unordered_map<std::string, Plan> plans;
  cpu::PlanKey key;
  key.put(pass).put(x.dtype).put(bias.data != nullptr).put(arguments).put(x.shape).put(y.shape).put(weight.shape);
  auto found = plans.find(key.bytes());
  if (found == plans.end()) {
    const Geometry geometry = geometryOf(pass, x, y, weight, arguments);
    found = plans.emplace(key.bytes(), makePlan(pass, geometry, bias.data != nullptr, held.engine)).first;
  }
  Plan& plan = found->second;
  auto* scratch = static_cast<std::byte*>(held.scratch(plan.scratchBytes));
  bind(plan.x, x.data, scratch);
  bind(plan.y, y.data, scratch);
  bind(plan.weight, weight.data, scratch);
  if (bias.data != nullptr) plan.bias.set_data_handle(bias.data);
  Operand& result = pass == Pass::Forward ? plan.y : pass == Pass::Data ? plan.x : plan.weight;
  for (Operand* operand : {&plan.x, &plan.y, &plan.weight}) {
    if (operand->staged && operand != &result)
      operand->reorder.execute(held.stream, {{DNNL_ARG_FROM, operand->own}, {DNNL_ARG_TO, operand->held}});
  }
  plan.primitive.execute(held.stream, plan.arguments);
  if (result.staged) result.reorder.execute(held.stream, {{DNNL_ARG_FROM, result.held}, {DNNL_ARG_TO, result.own}});
  held.stream.wait();
}

}  // namespace

void kernel::convForward(const View& y, const View& x, const View& weight, const View& bias,
                         const ConvArguments& arguments) {
  if (y.shape.numel() == 0) return;
  if (x.dtype == DType::F64) return cpu::referenceConvForward(y, x, weight, bias, arguments);
  run(Pass::Forward, x, y, weight, bias, arguments);
}

void kernel::convBackwardData(const View& gradX, const View& gradY, const View& weight,
                              const ConvArguments& arguments) {
  if (gradX.shape.numel() == 0) return;
  if (gradX.dtype == DType::F64) return cpu::referenceConvBackwardData(gradX, gradY, weight, arguments);
  run(Pass::Data, gradX, gradY, weight, {}, arguments);
}

void kernel::convBackwardWeights(const View& gradWeight, const View& gradBias, const View& x, const View& gradY,
                                 const ConvArguments& arguments) {
  if (gradY.shape.numel() == 0) {
    fill(gradWeight, 0);
    if (gradBias.data != nullptr) fill(gradBias, 0);
    return;
  }
  if (x.dtype == DType::F64) return cpu::referenceConvBackwardWeights(gradWeight, gradBias, x, gradY, arguments);
  run(Pass::Weights, x, gradY, gradWeight, gradBias, arguments);
}

}  // namespace lacuna::rt
