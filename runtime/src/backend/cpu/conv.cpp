// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/conv_reference.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/widened.h"
#include "backend/nn_kernels.h"

/// Convolutions through oneDNN on channels-last pictures, with primitives and their arguments cached. The library wants
/// its own order of the weights, and sometimes of the pictures; they are brought into it in the execution's workspace.
namespace lacuna::rt {

using cpu::Library;
using dnnl::memory;

namespace {

using Pass = kernel::ConvPass;

/// An operand as the caller has it, and as the library wants it: the same memory, or a copy in the workspace.
struct Operand {
  memory own, held;
  dnnl::primitive reorder;
  bool staged = false;
  std::size_t offset = 0;  ///< in the workspace
};

struct ConvPlan {
  dnnl::primitive primitive;
  Operand x, y, weight;
  memory bias, scratch;  ///< scratch: what the primitive itself works in, behind the copies
  std::string weightOrder;
  std::size_t copiesBytes = 0;  ///< of the workspace
  std::size_t workspaceBytes = 0;
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
  using Desc = dnnl::convolution_forward::desc;
  const auto description =
      bias ? Desc(kKind, kAlgorithm, g.x, g.weight, g.bias, g.y, g.stride, g.dilation, g.padding, g.paddingEnd)
           : Desc(kKind, kAlgorithm, g.x, g.weight, g.y, g.stride, g.dilation, g.padding, g.paddingEnd);
  return {description, cpu::inGivenMemory(), engine};
}

/// What the library makes of a convolution, and the orders in which it wants the operands.
struct Choice {
  dnnl::primitive_desc primitive;
  memory::desc x, y, weight;
};

Choice choose(Pass pass, const Geometry& g, bool bias, const dnnl::engine& engine) {
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  const auto forward = forwardOf(g, bias, engine);
  if (pass == Pass::Forward) return {forward, forward.src_desc(), forward.dst_desc(), forward.weights_desc()};
  if (pass == Pass::Data) {
    const dnnl::convolution_backward_data::primitive_desc data(
        {kAlgorithm, g.x, g.weight, g.y, g.stride, g.dilation, g.padding, g.paddingEnd}, cpu::inGivenMemory(), engine,
        forward);
    return {data, data.diff_src_desc(), data.diff_dst_desc(), data.weights_desc()};
  }
  using Desc = dnnl::convolution_backward_weights::desc;
  const auto description =
      bias ? Desc(kAlgorithm, g.x, g.weight, g.bias, g.y, g.stride, g.dilation, g.padding, g.paddingEnd)
           : Desc(kAlgorithm, g.x, g.weight, g.y, g.stride, g.dilation, g.padding, g.paddingEnd);
  const dnnl::convolution_backward_weights::primitive_desc weights(description, cpu::inGivenMemory(), engine, forward);
  return {weights, weights.src_desc(), weights.diff_dst_desc(), weights.diff_weights_desc()};
}

std::size_t copyBytes(const memory::desc& own, const memory::desc& wanted) {
  return own == wanted ? 0 : cpu::wholeLines(wanted.get_size());
}

std::string textOf(const memory::desc& order) {
  return {reinterpret_cast<const char*>(&order.data), sizeof order.data};
}

kernel::WeightOrder weightOrderOf(const Geometry& g, const Choice& choice) {
  return {textOf(choice.weight), copyBytes(g.ownWeight, choice.weight)};
}

std::size_t workspaceBytes(const Geometry& g, const Choice& choice) {
  return copyBytes(g.ownX, choice.x) + copyBytes(g.ownY, choice.y) + copyBytes(g.ownWeight, choice.weight) +
         choice.primitive.scratchpad_desc().get_size();
}

Operand operandOf(ConvPlan& plan, const memory::desc& own, const memory::desc& wanted, bool isOutput,
                  const dnnl::engine& engine) {
  Operand operand;
  operand.own = memory(own, engine, nullptr);
  operand.staged = own != wanted;
  operand.held = operand.staged ? memory(wanted, engine, nullptr) : operand.own;
  if (!operand.staged) return operand;
  operand.reorder = isOutput ? dnnl::reorder(operand.held, operand.own) : dnnl::reorder(operand.own, operand.held);
  operand.offset = plan.copiesBytes;
  plan.copiesBytes += copyBytes(own, wanted);
  return operand;
}

ConvPlan makePlan(Pass pass, const Geometry& g, bool bias, const dnnl::engine& engine) {
  const Choice choice = choose(pass, g, bias, engine);
  ConvPlan plan;
  plan.primitive = dnnl::primitive(choice.primitive);
  plan.x = operandOf(plan, g.ownX, choice.x, pass == Pass::Data, engine);
  plan.y = operandOf(plan, g.ownY, choice.y, pass == Pass::Forward, engine);
  plan.weight = operandOf(plan, g.ownWeight, choice.weight, pass == Pass::Weights, engine);
  plan.weightOrder = textOf(choice.weight);
  plan.bias = memory(g.bias, engine, nullptr);
  const memory::desc scratch = cpu::scratchOf(plan.primitive);
  plan.workspaceBytes = plan.copiesBytes + scratch.get_size();
  const bool isWeights = pass == Pass::Weights;
  plan.arguments = {{pass == Pass::Data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, plan.x.held},
                    {isWeights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, plan.weight.held},
                    {pass == Pass::Forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, plan.y.held}};
  if (plan.workspaceBytes > plan.copiesBytes) {
    plan.scratch = memory(scratch, engine, nullptr);
    plan.arguments.emplace(DNNL_ARG_SCRATCHPAD, plan.scratch);
  }
  if (bias) plan.arguments.emplace(isWeights ? DNNL_ARG_DIFF_BIAS : DNNL_ARG_BIAS, plan.bias);
  return plan;
}

cpu::PlanKey keyOf(Pass pass, const View& x, const View& y, const View& weight, bool bias,
                   const kernel::ConvArguments& arguments) {
  cpu::PlanKey key;
  key.put(pass).put(x.dtype).put(bias).put(arguments).put(x.shape).put(y.shape).put(weight.shape);
  return key;
}

void bind(Operand& operand, void* data, std::byte* workspace) {
  operand.own.set_data_handle(data);
  if (operand.staged) operand.held.set_data_handle(workspace + operand.offset);
}

void run(Pass pass, const View& x, const View& y, const View& weight, const View& bias,
         const kernel::ConvArguments& arguments, const View& workspace, kernel::ArrangedWeights* arranged = nullptr) {
  threadCount();
  Library& held = cpu::library();
  thread_local cpu::BoundedCache<ConvPlan> plans(cpu::kMostPlans);
  const bool hasBias = bias.data != nullptr;
  const cpu::PlanKey key = keyOf(pass, x, y, weight, hasBias, arguments).put(threadCount());
  ConvPlan& plan = plans.find(
      key.bytes(), [&] { return makePlan(pass, geometryOf(pass, x, y, weight, arguments), hasBias, held.engine); });
  auto* memory = static_cast<std::byte*>(held.memoryFor(workspace, plan.workspaceBytes));
  bind(plan.x, x.data, memory);
  bind(plan.y, y.data, memory);
  bind(plan.weight, weight.data, memory);
  if (plan.workspaceBytes > plan.copiesBytes) plan.scratch.set_data_handle(memory + plan.copiesBytes);
  if (hasBias) plan.bias.set_data_handle(bias.data);
  // The library may have chosen otherwise than it said when it was asked.
  if (!plan.weight.staged || (arranged != nullptr && arranged->order != plan.weightOrder)) arranged = nullptr;
  if (arranged != nullptr) plan.weight.held.set_data_handle(arranged->data);
  Operand& result = pass == Pass::Forward ? plan.y : pass == Pass::Data ? plan.x : plan.weight;
  const bool filled = arranged != nullptr && arranged->filled;
  for (Operand* operand : {&plan.x, &plan.y, &plan.weight}) {
    if (operand->staged && operand != &result && !(filled && operand == &plan.weight))
      operand->reorder.execute(held.stream, {{DNNL_ARG_FROM, operand->own}, {DNNL_ARG_TO, operand->held}});
  }
  if (arranged != nullptr) arranged->filled = true;  // only now: a copy that failed is made again
  plan.primitive.execute(held.stream, plan.arguments);
  if (result.staged) result.reorder.execute(held.stream, {{DNNL_ARG_FROM, result.held}, {DNNL_ARG_TO, result.own}});
  held.stream.wait();
}

/// In f32, through the library or in plain loops.
void runWide(Pass pass, const View& x, const View& y, const View& weight, const View& bias,
             const kernel::ConvArguments& arguments, const View& workspace) {
  if (!cpu::inPlainLoops()) return run(pass, x, y, weight, bias, arguments, workspace);
  if (pass == Pass::Forward) cpu::referenceConvForward(y, x, weight, bias, arguments);
  if (pass == Pass::Data) cpu::referenceConvBackwardData(x, y, weight, arguments);
  if (pass == Pass::Weights) cpu::referenceConvBackwardWeights(weight, bias, x, y, arguments);
}

/// The operands in f32, each in the order of its own.
struct WideOperands {
  View x, y, weight, bias;
  WideOperands(cpu::Widening& widening, const View& ownX, const View& ownY, const View& ownWeight, bool hasBias)
      : x(widening.add(ownX.shape, ownX.strides)),
        y(widening.add(ownY.shape, ownY.strides)),
        weight(widening.add(ownWeight.shape, ownWeight.strides)) {
    if (hasBias) bias = widening.add({ownY.shape[1]}, {1});
  }
};

void throughWide(Pass pass, const View& x, const View& y, const View& weight, const View& bias,
                 const kernel::ConvArguments& arguments, const View& workspace) {
  cpu::Widening widening(workspace);
  const bool hasBias = bias.data != nullptr;
  const WideOperands wide(widening, x, y, weight, hasBias);
  if (pass != Pass::Data) kernel::copy(wide.x, x);
  if (pass != Pass::Forward) kernel::copy(wide.y, y);
  if (pass != Pass::Weights) kernel::copy(wide.weight, weight);
  if (hasBias && pass == Pass::Forward) kernel::copy(wide.bias, bias);
  runWide(pass, wide.x, wide.y, wide.weight, wide.bias, arguments, widening.rest());
  if (pass == Pass::Data) kernel::copy(x, wide.x);
  if (pass == Pass::Forward) kernel::copy(y, wide.y);
  if (pass == Pass::Weights) kernel::copy(weight, wide.weight);
  if (hasBias && pass == Pass::Weights) kernel::copy(bias, wide.bias);
}

void throughLibrary(Pass pass, const View& x, const View& y, const View& weight, const View& bias,
                    const kernel::ConvArguments& arguments, const View& workspace,
                    kernel::ArrangedWeights* arranged = nullptr) {
  if (x.dtype == DType::F16) throw Error("f16 convolutions are not supported on the CPU; use bf16 or f32");
  if (cpu::isWidened(x.dtype)) return throughWide(pass, x, y, weight, bias, arguments, workspace);
  run(pass, x, y, weight, bias, arguments, workspace, arranged);
}

/// The library refuses operands without channels. The plain loops find nothing to multiply, and leave zeros or the
/// bias.
bool isEmpty(const View& x, const View& y, const View& weight) {
  return x.shape.numel() == 0 || y.shape.numel() == 0 || weight.shape.numel() == 0;
}

/// What the library lacks, and what it is not to compute.
bool isForLoops(const View& x, const View& y, const View& weight) {
  return x.dtype == DType::F64 || (x.dtype == DType::F32 && cpu::inPlainLoops()) || isEmpty(x, y, weight);
}

/// What is not runs in the plain loops, or is refused.
bool isForLibrary(const View& x, const View& y, const View& weight) {
  return !isForLoops(x, y, weight) && x.dtype != DType::F16;
}

}  // namespace

std::size_t kernel::convWorkspace(ConvPass pass, const View& x, const View& y, const View& weight, bool bias,
                                  const ConvArguments& arguments) {
  if (!isForLibrary(x, y, weight)) return 0;
  if (cpu::isWidened(x.dtype)) {
    cpu::Widening widening;
    const WideOperands wide(widening, x, y, weight, bias);
    return widening.bytes() + convWorkspace(pass, wide.x, wide.y, wide.weight, bias, arguments);
  }
  thread_local cpu::WorkspaceSizes sizes;
  return sizes.find(keyOf(pass, x, y, weight, bias, arguments), [&] {
    const Geometry geometry = geometryOf(pass, x, y, weight, arguments);
    return workspaceBytes(geometry, choose(pass, geometry, bias, cpu::library().engine));
  });
}

const kernel::WeightOrder& kernel::convWeightOrder(const View& x, const View& y, const View& weight, bool bias,
                                                   const ConvArguments& arguments) {
  static const WeightOrder kItsOwn;
  if (!isForLibrary(x, y, weight) || cpu::isWidened(x.dtype)) return kItsOwn;
  thread_local cpu::AskedAhead<WeightOrder> orders;
  return orders.find(keyOf(ConvPass::Forward, x, y, weight, bias, arguments), [&] {
    const Geometry geometry = geometryOf(ConvPass::Forward, x, y, weight, arguments);
    return weightOrderOf(geometry, choose(ConvPass::Forward, geometry, bias, cpu::library().engine));
  });
}

void kernel::convForward(const View& y, const View& x, const View& weight, const View& bias,
                         const ConvArguments& arguments, const View& workspace, ArrangedWeights* arranged) {
  if (y.shape.numel() == 0) return;
  if (isForLoops(x, y, weight)) return cpu::referenceConvForward(y, x, weight, bias, arguments);
  throughLibrary(Pass::Forward, x, y, weight, bias, arguments, workspace, arranged);
}

void kernel::convBackwardData(const View& gradX, const View& gradY, const View& weight, const ConvArguments& arguments,
                              const View& workspace) {
  if (gradX.shape.numel() == 0) return;
  if (isForLoops(gradX, gradY, weight)) return cpu::referenceConvBackwardData(gradX, gradY, weight, arguments);
  throughLibrary(Pass::Data, gradX, gradY, weight, {}, arguments, workspace);
}

void kernel::convBackwardWeights(const View& gradWeight, const View& gradBias, const View& x, const View& gradY,
                                 const ConvArguments& arguments, const View& workspace) {
  if (gradY.shape.numel() == 0) {
    fill(gradWeight, 0);
    if (gradBias.data != nullptr) fill(gradBias, 0);
    return;
  }
  if (isForLoops(x, gradY, gradWeight))
    return cpu::referenceConvBackwardWeights(gradWeight, gradBias, x, gradY, arguments);
  throughLibrary(Pass::Weights, x, gradY, gradWeight, gradBias, arguments, workspace);
}

}  // namespace lacuna::rt
