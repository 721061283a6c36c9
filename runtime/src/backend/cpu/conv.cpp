// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/conv_reference.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/parallel.h"
#include "backend/nn_kernels.h"

/// Convolutions through oneDNN on channels-last pictures, with primitives and their arguments cached. The library wants
/// its own order of the weights; they are brought into it in a scratch buffer at each execution.
namespace lacuna::rt {

using cpu::Library;
using dnnl::memory;

namespace {

enum class Pass : char { Forward, Data, Weights };

struct Plan {
  dnnl::primitive primitive, reorder;
  memory picture, other, weight, packed, bias;
  bool packs = false;
  std::unordered_map<int, memory> arguments;
};

struct Geometry {
  memory::desc x, y, weight, userWeight, bias;
  memory::dims stride, dilation, padding, paddingEnd;
};

Geometry geometryOf(const View& x, const View& y, const View& weight, const kernel::ConvArguments& a) {
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
  g.x = {dims(x.shape), type, memory::format_tag::nhwc};
  g.y = {dims(y.shape), type, memory::format_tag::nhwc};
  g.weight = {w, type, memory::format_tag::any};
  g.userWeight = {w, type, order};
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

void setUp(Plan& plan, const Geometry& g, const memory::desc& packed, bool weightsOut, const dnnl::engine& engine) {
  plan.picture = memory(g.x, engine, nullptr);
  plan.other = memory(g.y, engine, nullptr);
  plan.bias = memory(g.bias, engine, nullptr);
  plan.weight = memory(g.userWeight, engine, nullptr);
  plan.packs = packed != g.userWeight;
  plan.packed = plan.packs ? memory(packed, engine, nullptr) : plan.weight;
  if (plan.packs)
    plan.reorder = weightsOut ? dnnl::reorder(plan.packed, plan.weight) : dnnl::reorder(plan.weight, plan.packed);
}

Plan makePlan(Pass pass, const Geometry& g, bool bias, const dnnl::engine& engine) {
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  const auto forward = forwardOf(g, bias, engine);
  Plan plan;
  if (pass == Pass::Forward) {
    plan.primitive = dnnl::convolution_forward(forward);
    setUp(plan, g, forward.weights_desc(), false, engine);
    plan.arguments = {{DNNL_ARG_SRC, plan.picture}, {DNNL_ARG_WEIGHTS, plan.packed}, {DNNL_ARG_DST, plan.other}};
    if (bias) plan.arguments.emplace(DNNL_ARG_BIAS, plan.bias);
  } else if (pass == Pass::Data) {
    const dnnl::convolution_backward_data::primitive_desc data(
        {kAlgorithm, g.x, g.weight, g.y, g.stride, g.dilation, g.padding, g.paddingEnd}, engine, forward);
    plan.primitive = dnnl::convolution_backward_data(data);
    setUp(plan, g, data.weights_desc(), false, engine);
    plan.arguments = {
        {DNNL_ARG_DIFF_SRC, plan.picture}, {DNNL_ARG_WEIGHTS, plan.packed}, {DNNL_ARG_DIFF_DST, plan.other}};
  } else {
    using Desc = dnnl::convolution_backward_weights::desc;
    const auto description =
        bias ? Desc(kAlgorithm, g.x, g.weight, g.bias, g.y, g.stride, g.dilation, g.padding, g.paddingEnd)
             : Desc(kAlgorithm, g.x, g.weight, g.y, g.stride, g.dilation, g.padding, g.paddingEnd);
    const dnnl::convolution_backward_weights::primitive_desc weights(description, engine, forward);
    plan.primitive = dnnl::convolution_backward_weights(weights);
    setUp(plan, g, weights.diff_weights_desc(), true, engine);
    plan.arguments = {
        {DNNL_ARG_SRC, plan.picture}, {DNNL_ARG_DIFF_WEIGHTS, plan.packed}, {DNNL_ARG_DIFF_DST, plan.other}};
    if (bias) plan.arguments.emplace(DNNL_ARG_DIFF_BIAS, plan.bias);
  }
  return plan;
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
    const Geometry geometry = geometryOf(x, y, weight, arguments);
    found = plans.emplace(key.bytes(), makePlan(pass, geometry, bias.data != nullptr, held.engine)).first;
  }
  Plan& plan = found->second;
  plan.picture.set_data_handle(x.data);
  plan.other.set_data_handle(y.data);
  plan.weight.set_data_handle(weight.data);
  if (bias.data != nullptr) plan.bias.set_data_handle(bias.data);
  if (plan.packs) plan.packed.set_data_handle(held.scratch(plan.packed.get_desc().get_size()));
  if (plan.packs && pass != Pass::Weights)
    plan.reorder.execute(held.stream, {{DNNL_ARG_FROM, plan.weight}, {DNNL_ARG_TO, plan.packed}});
  plan.primitive.execute(held.stream, plan.arguments);
  if (plan.packs && pass == Pass::Weights)
    plan.reorder.execute(held.stream, {{DNNL_ARG_FROM, plan.packed}, {DNNL_ARG_TO, plan.weight}});
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
