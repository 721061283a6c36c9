// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/cpu/conv_reference.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/widened.h"
#include "backend/cpu/widened_conv.h"
#include "backend/nn_kernels.h"

/// Convolutions through oneDNN on channels-last pictures, with primitives and their arguments
/// cached. The library wants its own order of the weights, and sometimes of the pictures; they are
/// brought into it in the execution's workspace.
namespace lacuna::rt {

using cpu::Library;
using dnnl::memory;

namespace {

using Pass = kernel::ConvPass;

/// An operand as the caller has it, and as the library wants it: the same memory, or a copy in the
/// workspace.
struct Operand {
  memory own, held;
  dnnl::primitive reorder;
  dnnl::primitive add;  ///< of a staged result: adds it to what is there
  bool staged = false;
  std::size_t offset = 0;  ///< in the workspace
  std::size_t step = 0;    ///< bytes from one part of the pictures to the next
};

/// Pictures may be worked on in equal parts, one after the other.
struct ConvPlan {
  dnnl::primitive primitive;
  std::int64_t parts = 1;
  Operand x, y, weight;
  memory bias, scratch;  ///< scratch: what the primitive itself works in, after the copies
  std::string weightOrder;
  std::size_t copiesBytes = 0;  ///< of the workspace
  std::size_t workspaceBytes = 0;
  std::unordered_map<int, memory> arguments;
};

/// The operands of a convolution, in any pass.
struct Operands {
  View x, y, weight;
  bool bias;
  kernel::ConvArguments arguments;
};

struct Geometry {
  memory::desc x, y, weight, bias;  ///< in the orders that the library may choose from
  memory::desc ownX, ownY, ownWeight;
  memory::dims stride, dilation, padding, paddingEnd;
};

/// Channels last suits the library nearly as well as its own orders. Where pictures are smaller
/// than the weights, its own are much faster and copying the pictures costs little; for the
/// gradient of the weights they are not. The choice depends on shapes alone, so that equal runs
/// give equal numbers.
bool ownOrderPays(Pass pass, const Operands& of) {
  const std::int64_t weights = of.weight.shape.numel();
  return pass != Pass::Weights && of.x.shape.numel() < weights && of.y.shape.numel() < weights;
}

memory::desc inAnyOrder(const memory::desc& own) {
  return {own.dims(), own.data_type(), memory::format_tag::any};
}

/// `free`: the library may choose the order of the pictures.
Geometry geometryOf(const Operands& of, bool free) {
  const auto& [x, y, weight, bias, a] = of;
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
  g.ownX = {dims(x.shape), type, memory::format_tag::nhwc};
  g.ownY = {dims(y.shape), type, memory::format_tag::nhwc};
  g.ownWeight = {w, type, order};
  g.x = free ? inAnyOrder(g.ownX) : g.ownX;
  g.y = free ? inAnyOrder(g.ownY) : g.ownY;
  g.weight = inAnyOrder(g.ownWeight);
  g.bias = {{y.shape[1]}, type, memory::format_tag::x};
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t reach = (weight.shape[2 + i] - 1) * a.dilation[at] + 1;
    g.stride.push_back(a.stride[at]);
    g.dilation.push_back(a.dilation[at] - 1);
    g.padding.push_back(a.padding[at]);
    g.paddingEnd.push_back((y.shape[2 + i] - 1) * a.stride[at] + reach - x.shape[2 + i] -
                           a.padding[at]);
  }
  return g;
}

/// The primitive that the library chooses for a convolution, and the orders in which it wants the
/// operands.
struct Choice {
  Geometry geometry;
  dnnl::primitive_desc primitive;
  memory::desc x, y, weight;
  std::int64_t parts = 1;
};

/// Without a primitive where the library lacks Winograd's algorithm.
Choice ask(Pass pass, dnnl::algorithm how, const Geometry& g, bool bias,
           const dnnl::engine& engine) {
  constexpr auto kKind = dnnl::prop_kind::forward_training;
  const bool mayLack = how == dnnl::algorithm::convolution_winograd;
  const dnnl::primitive_attr attributes = cpu::inGivenMemory();
  using Forward = dnnl::convolution_forward;
  const auto ahead = bias ? Forward::desc(kKind, how, g.x, g.weight, g.bias, g.y, g.stride,
                                          g.dilation, g.padding, g.paddingEnd)
                          : Forward::desc(kKind, how, g.x, g.weight, g.y, g.stride, g.dilation,
                                          g.padding, g.paddingEnd);
  const Forward::primitive_desc forward(ahead, attributes, engine, mayLack);
  if (!forward) return {};
  if (pass == Pass::Forward)
    return {g, forward, forward.src_desc(), forward.dst_desc(), forward.weights_desc()};
  if (pass == Pass::Data) {
    const dnnl::convolution_backward_data::primitive_desc data(
        {how, g.x, g.weight, g.y, g.stride, g.dilation, g.padding, g.paddingEnd}, attributes,
        engine, forward, mayLack);
    if (!data) return {};
    return {g, data, data.diff_src_desc(), data.diff_dst_desc(), data.weights_desc()};
  }
  using Weights = dnnl::convolution_backward_weights;
  const auto back =
      bias ? Weights::desc(how, g.x, g.weight, g.bias, g.y, g.stride, g.dilation, g.padding,
                           g.paddingEnd)
           : Weights::desc(how, g.x, g.weight, g.y, g.stride, g.dilation, g.padding, g.paddingEnd);
  const Weights::primitive_desc weights(back, attributes, engine, forward, mayLack);
  if (!weights) return {};
  return {g, weights, weights.src_desc(), weights.diff_dst_desc(), weights.diff_weights_desc()};
}

std::size_t copyBytes(const memory::desc& own, const memory::desc& wanted) {
  return own == wanted ? 0 : cpu::roundedToLines(wanted.get_size());
}

std::size_t workspaceBytes(const Choice& choice) {
  const Geometry& g = choice.geometry;
  return copyBytes(g.ownX, choice.x) + copyBytes(g.ownY, choice.y) +
         copyBytes(g.ownWeight, choice.weight) + choice.primitive.scratchpad_desc().get_size();
}

/// Winograd's algorithm makes 4 × 4 results from 6 × 6 values at a time, with a quarter of the
/// multiplications. The library wants its own orders for it and keeps all values that it makes of a
/// part. So a part is as many pictures as fill a few MB, which also stay in the cache. It first
/// makes four times as many values of the weights; that pays from some 64 tiles on. 0 where it does
/// not.
std::int64_t picturesForWinograd(Pass pass, const Operands& of) {
  constexpr std::int64_t kTile = 4, kLeastTiles = 64, kLeastChannels = 32;
  constexpr std::int64_t kMostChannels = 65536;  // of all tiles of a part, with 36 values each
  constexpr std::array<std::int64_t, 2> kOne{1, 1};
  const auto& [x, y, weight, bias, a] = of;
  const bool fits = x.dtype == DType::F32 && weight.shape[2] == 3 && weight.shape[3] == 3 &&
                    a.groups == 1 && a.stride == kOne && a.dilation == kOne &&
                    std::max(a.padding[0], a.padding[1]) <= 1;
  if (!fits || std::min(x.shape[1], y.shape[1]) < kLeastChannels) return 0;
  const auto tilesAlong = [&shape = y.shape](int d) { return (shape[d] + kTile - 1) / kTile; };
  const std::int64_t tiles = tilesAlong(2) * tilesAlong(3);
  const std::int64_t most = kMostChannels / ((x.shape[1] + y.shape[1]) * tiles);
  std::int64_t pictures = x.shape[0];
  while (pictures > std::max<std::int64_t>(1, most) || x.shape[0] % pictures != 0) --pictures;
  const bool addsBias =
      pass == Pass::Weights && bias && pictures < x.shape[0];  // which nobody does
  return pictures * tiles < kLeastTiles || addsBias ? 0 : pictures;
}

/// As everything that is chosen here it depends on shapes alone, so that equal runs give equal
/// numbers.
Choice choose(Pass pass, const Operands& of, const dnnl::engine& engine) {
  constexpr std::size_t kMostWorkspace = std::size_t{40} << 20;  // a step's peak grows by it
  if (const std::int64_t pictures = picturesForWinograd(pass, of); pictures != 0) {
    Operands part = of;
    part.x.shape[0] = part.y.shape[0] = pictures;
    Choice choice =
        ask(pass, dnnl::algorithm::convolution_winograd, geometryOf(part, true), of.bias, engine);
    choice.parts = of.x.shape[0] / pictures;
    const bool adds = pass == Pass::Weights &&
                      choice.parts > 1;  // from a copy, which the order of the weights asks for
    if (choice.primitive && workspaceBytes(choice) <= kMostWorkspace &&
        !(adds && choice.weight == choice.geometry.ownWeight))
      return choice;
  }
  return ask(pass, dnnl::algorithm::convolution_direct, geometryOf(of, ownOrderPays(pass, of)),
             of.bias, engine);
}

std::string textOf(const memory::desc& order) {
  return {reinterpret_cast<const char*>(&order.data), sizeof order.data};
}

kernel::WeightOrder weightOrderOf(const Choice& choice) {
  return {textOf(choice.weight), copyBytes(choice.geometry.ownWeight, choice.weight)};
}

dnnl::primitive addition(const memory& from, const memory& to) {
  dnnl::post_ops sum;
  sum.append_sum(1.0F);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(sum);
  return dnnl::reorder(from, to, attributes);
}

Operand operandOf(ConvPlan& plan, const memory::desc& own, const memory::desc& wanted,
                  bool isOutput, const dnnl::engine& engine) {
  Operand operand;
  operand.own = memory(own, engine, nullptr);
  operand.staged = own != wanted;
  operand.held = operand.staged ? memory(wanted, engine, nullptr) : operand.own;
  if (!operand.staged) return operand;
  operand.reorder = isOutput ? dnnl::reorder(operand.held, operand.own)
                             : dnnl::reorder(operand.own, operand.held);
  operand.offset = plan.copiesBytes;
  plan.copiesBytes += copyBytes(own, wanted);
  return operand;
}

ConvPlan makePlan(Pass pass, const Operands& of, const dnnl::engine& engine) {
  const Choice choice = choose(pass, of, engine);
  const Geometry& g = choice.geometry;
  ConvPlan plan;
  plan.primitive = dnnl::primitive(choice.primitive);
  plan.parts = choice.parts;
  plan.x = operandOf(plan, g.ownX, choice.x, pass == Pass::Data, engine);
  plan.y = operandOf(plan, g.ownY, choice.y, pass == Pass::Forward, engine);
  plan.weight = operandOf(plan, g.ownWeight, choice.weight, pass == Pass::Weights, engine);
  plan.x.step = g.ownX.get_size();
  plan.y.step = g.ownY.get_size();
  plan.weightOrder = textOf(choice.weight);
  plan.bias = memory(g.bias, engine, nullptr);
  const memory::desc scratch = cpu::scratchOf(plan.primitive);
  plan.workspaceBytes = plan.copiesBytes + scratch.get_size();
  const bool isWeights = pass == Pass::Weights;
  if (isWeights && plan.parts > 1) plan.weight.add = addition(plan.weight.held, plan.weight.own);
  plan.arguments = {{pass == Pass::Data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, plan.x.held},
                    {isWeights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, plan.weight.held},
                    {pass == Pass::Forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, plan.y.held}};
  if (plan.workspaceBytes > plan.copiesBytes) {
    plan.scratch = memory(scratch, engine, nullptr);
    plan.arguments.emplace(DNNL_ARG_SCRATCHPAD, plan.scratch);
  }
  if (of.bias) plan.arguments.emplace(isWeights ? DNNL_ARG_DIFF_BIAS : DNNL_ARG_BIAS, plan.bias);
  return plan;
}

cpu::PlanKey keyOf(Pass pass, const Operands& of) {
  cpu::PlanKey key;
  key.put(pass)
      .put(of.x.dtype)
      .put(of.bias)
      .put(of.arguments)
      .put(of.x.shape)
      .put(of.y.shape)
      .put(of.weight.shape);
  return key;
}

void point(Operand& operand, void* data, std::byte* workspace) {
  operand.own.set_data_handle(data);
  if (operand.staged) operand.held.set_data_handle(workspace + operand.offset);
}

void bring(const dnnl::primitive& reorder, const memory& from, const memory& to,
           dnnl::stream& stream) {
  reorder.execute(stream, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

/// Runs one part of the pictures. The weights of the first serve the others.
void runPart(ConvPlan& plan, const Operand& result, bool first, bool arranged,
             dnnl::stream& stream) {
  for (const Operand* operand : {&plan.x, &plan.y, &plan.weight}) {
    const bool there = operand == &plan.weight && (arranged || !first);
    if (operand->staged && operand != &result && !there)
      bring(operand->reorder, operand->own, operand->held, stream);
  }
  plan.primitive.execute(stream, plan.arguments);
  const bool adds = &result == &plan.weight && !first;
  if (result.staged) bring(adds ? result.add : result.reorder, result.held, result.own, stream);
}

void run(Pass pass, const View& x, const View& y, const View& weight, const View& bias,
         const kernel::ConvArguments& arguments, const View& workspace,
         kernel::ArrangedWeights* arranged = nullptr) {
  threadCount();
  Library& held = cpu::library();
  thread_local cpu::BoundedCache<ConvPlan> plans(cpu::kMostPlans);
  const Operands of{x, y, weight, bias.data != nullptr, arguments};
  const cpu::PlanKey key = keyOf(pass, of).put(threadCount());
  ConvPlan& plan = plans.find(key.bytes(), [&] { return makePlan(pass, of, held.engine); });
  auto* memory = static_cast<std::byte*>(held.memoryFor(workspace, plan.workspaceBytes));
  point(plan.weight, weight.data, memory);
  if (plan.workspaceBytes > plan.copiesBytes)
    plan.scratch.set_data_handle(memory + plan.copiesBytes);
  if (of.bias) plan.bias.set_data_handle(bias.data);
  // The library may have chosen otherwise than it answered when it was asked.
  if (!plan.weight.staged || (arranged != nullptr && arranged->order != plan.weightOrder))
    arranged = nullptr;
  if (arranged != nullptr) plan.weight.held.set_data_handle(arranged->data);
  const Operand& result = pass == Pass::Forward ? plan.y
                          : pass == Pass::Data  ? plan.x
                                                : plan.weight;
  for (std::int64_t part = 0; part < plan.parts; ++part) {
    const auto at = static_cast<std::size_t>(part);
    point(plan.x, static_cast<std::byte*>(x.data) + at * plan.x.step, memory);
    point(plan.y, static_cast<std::byte*>(y.data) + at * plan.y.step, memory);
    runPart(plan, result, part == 0, arranged != nullptr && arranged->filled, held.stream);
  }
  held.stream.wait();
  if (arranged != nullptr) arranged->filled = true;  // only now: a copy that failed is made again
}

void throughLibrary(Pass pass, const View& x, const View& y, const View& weight, const View& bias,
                    const kernel::ConvArguments& arguments, const View& workspace,
                    kernel::ArrangedWeights* arranged = nullptr) {
  if (cpu::isWidened(x.dtype))
    return cpu::widenedConv(pass, x, y, weight, bias, arguments, workspace);
  run(pass, x, y, weight, bias, arguments, workspace, arranged);
}

/// The library refuses operands without channels. The plain loops find nothing to multiply, and
/// leave zeros or the bias.
bool isEmpty(const View& x, const View& y, const View& weight) {
  return x.shape.numel() == 0 || y.shape.numel() == 0 || weight.shape.numel() == 0;
}

/// True for what the library lacks, and what it is not to compute; all else is for the library.
bool isForLoops(const View& x, const View& y, const View& weight) {
  return x.dtype == DType::F64 || (x.dtype == DType::F32 && cpu::inPlainLoops()) ||
         isEmpty(x, y, weight);
}

}  // namespace

std::size_t kernel::convWorkspace(ConvPass pass, const View& x, const View& y, const View& weight,
                                  bool bias, const ConvArguments& arguments) {
  if (isForLoops(x, y, weight)) return 0;
  if (cpu::isWidened(x.dtype))
    return cpu::widenedConvWorkspace(pass, x, y, weight, bias, arguments);
  thread_local cpu::WorkspaceSizes sizes;
  const Operands of{x, y, weight, bias, arguments};
  return sizes.find(keyOf(pass, of),
                    [&] { return workspaceBytes(choose(pass, of, cpu::library().engine)); });
}

const kernel::WeightOrder& kernel::convWeightOrder(const View& x, const View& y, const View& weight,
                                                   bool bias, const ConvArguments& arguments) {
  static const WeightOrder kItsOwn;
  if (isForLoops(x, y, weight) || cpu::isWidened(x.dtype)) return kItsOwn;
  thread_local cpu::AskedAhead<WeightOrder> orders;
  const Operands of{x, y, weight, bias, arguments};
  return orders.find(keyOf(ConvPass::Forward, of), [&] {
    return weightOrderOf(choose(ConvPass::Forward, of, cpu::library().engine));
  });
}

void kernel::convForward(const View& y, const View& x, const View& weight, const View& bias,
                         const ConvArguments& arguments, const View& workspace,
                         ArrangedWeights* arranged) {
  if (y.shape.numel() == 0) return;
  if (isForLoops(x, y, weight)) return cpu::referenceConvForward(y, x, weight, bias, arguments);
  throughLibrary(Pass::Forward, x, y, weight, bias, arguments, workspace, arranged);
}

void kernel::convBackwardData(const View& gradX, const View& gradY, const View& weight,
                              const ConvArguments& arguments, const View& workspace) {
  if (gradX.shape.numel() == 0) return;
  if (isForLoops(gradX, gradY, weight))
    return cpu::referenceConvBackwardData(gradX, gradY, weight, arguments);
  throughLibrary(Pass::Data, gradX, gradY, weight, {}, arguments, workspace);
}

void kernel::convBackwardWeights(const View& gradWeight, const View& gradBias, const View& x,
                                 const View& gradY, const ConvArguments& arguments,
                                 const View& workspace) {
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
