// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "picture_orders.h"

#include <chrono>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "backend/nn_kernels.h"

namespace bench {

namespace {

namespace rt = lacuna::rt;
using dnnl::memory;
using rt::View;
using rt::kernel::ConvPass;

constexpr std::int64_t kPictures = 64;

struct Convolution {
  std::int64_t in, out, side, window, stride;
  int times;

  [[nodiscard]] std::int64_t outSide() const { return side / stride; }
  [[nodiscard]] std::int64_t padding() const { return window / 2; }
  /// True when the runtime has it made by Winograd's algorithm, where the library has that.
  [[nodiscard]] bool byWinograd() const {
    return window == 3 && stride == 1 && in >= 64 && in <= 256;
  }
  [[nodiscard]] rt::Shape x() const { return {kPictures, in, side, side}; }
  [[nodiscard]] rt::Shape y() const { return {kPictures, out, outSide(), outSide()}; }
  [[nodiscard]] rt::Shape weight() const { return {out, in, window, window}; }
};
constexpr Convolution kConvolutions[] = {
    {3, 64, 32, 3, 1, 1},    {64, 64, 32, 3, 1, 4},   {64, 128, 32, 3, 2, 1},
    {64, 128, 32, 1, 2, 1},  {128, 128, 16, 3, 1, 3}, {128, 256, 16, 3, 2, 1},
    {128, 256, 16, 1, 2, 1}, {256, 256, 8, 3, 1, 3},  {256, 512, 8, 3, 2, 1},
    {256, 512, 8, 1, 2, 1},  {512, 512, 4, 3, 1, 3}};

/// Memory that all convolutions use in turns, large enough for each. The convolutions never write
/// to the memory that they read.
class Pool {
 public:
  static Pool& instance() {
    static Pool one;
    return one;
  }
  float* read(std::size_t which) { return reads_[which].data(); }
  float* written() { return written_.data(); }
  float* staged(std::size_t which) { return staged_[which].data(); }
  /// The library's code counts on whole lines of the cache, as the allocator gives them.
  std::byte* workspace(std::size_t bytes) {
    if (workspace_.size() < bytes / sizeof(Line) + 1) workspace_.resize(bytes / sizeof(Line) + 1);
    return workspace_.data()->bytes;
  }

 private:
  Pool() {
    for (std::size_t which = 0; which < 2; ++which) {
      for (std::size_t i = 0; i < kValues; ++i)
        reads_[which].data()[i] = 0.01F * static_cast<float>(i % (7 + which)) - 0.03F;
    }
  }
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  struct Values {
    std::vector<Line> lines = std::vector<Line>(kValues * sizeof(float) / sizeof(Line));
    float* data() { return reinterpret_cast<float*>(lines.data()); }
  };
  static constexpr std::size_t kValues = kPictures * 64 * 32 * 32;
  Values reads_[2], written_, staged_[3];
  std::vector<Line> workspace_;
};

/// Where x, y and the weight lie: the pass writes one of them.
struct Places {
  float *x, *y, *weight;
  explicit Places(ConvPass pass) {
    Pool& pool = Pool::instance();
    x = pass == ConvPass::Data ? pool.written() : pool.read(0);
    y = pass == ConvPass::Forward ? pool.written() : pool.read(1);
    weight =
        pass == ConvPass::Weights ? pool.written() : pool.read(pass == ConvPass::Forward ? 1 : 0);
  }
};

std::function<void()> ofTheRuntime(const Convolution& c, ConvPass pass) {
  const auto picture = [](float* data, const rt::Shape& s) {
    return View{data, s, {s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]}, rt::DType::F32};
  };
  const Places at(pass);
  const View x = picture(at.x, c.x());
  const View y = picture(at.y, c.y());
  const View weight{at.weight, c.weight(), c.weight().contiguousStrides(), rt::DType::F32};
  const rt::kernel::ConvArguments arguments{{c.stride, c.stride}, {c.padding(), c.padding()}};
  const std::size_t bytes = rt::kernel::convWorkspace(pass, x, y, weight, false, arguments);
  return [=] {
    const View work{
        Pool::instance().workspace(bytes), {static_cast<std::int64_t>(bytes)}, {1}, rt::DType::U8};
    if (pass == ConvPass::Forward)
      rt::kernel::convForward(y, x, weight, {}, arguments, work, nullptr);
    if (pass == ConvPass::Data) rt::kernel::convBackwardData(x, y, weight, arguments, work);
    if (pass == ConvPass::Weights)
      rt::kernel::convBackwardWeights(weight, {}, x, y, arguments, work);
  };
}

const dnnl::engine& engine() {
  static const dnnl::engine one(dnnl::engine::kind::cpu, 0);
  return one;
}
dnnl::stream& stream() {
  static dnnl::stream one(engine());
  return one;
}

/// The library's choice for a pass when it may choose all orders.
struct Choice {
  dnnl::primitive primitive;
  memory::desc x, y, weight;
};

Choice choose(const Convolution& c, ConvPass pass, dnnl::algorithm how) {
  const auto any = [](const rt::Shape& s) {
    return memory::desc({s.begin(), s.end()}, memory::data_type::f32, memory::format_tag::any);
  };
  const memory::desc x = any(c.x()), y = any(c.y()), w = any(c.weight());
  const memory::dims strides{c.stride, c.stride};
  const memory::dims before{c.padding(), c.padding()};
  // Where the stride is 2 the last row and column of the padding are not reached.
  const std::int64_t rest = (c.outSide() - 1) * c.stride + c.window - c.side - c.padding();
  const memory::dims after{rest, rest};
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, how, x, w, y, strides, before, after}, engine(), true);
  if (!forward) return choose(c, pass, dnnl::algorithm::convolution_direct);
  if (pass == ConvPass::Forward)
    return {dnnl::convolution_forward(forward), forward.src_desc(), forward.dst_desc(),
            forward.weights_desc()};
  if (pass == ConvPass::Data) {
    const dnnl::convolution_backward_data::primitive_desc data(
        {how, x, w, y, strides, before, after}, engine(), forward);
    return {dnnl::convolution_backward_data(data), data.diff_src_desc(), data.diff_dst_desc(),
            data.weights_desc()};
  }
  const dnnl::convolution_backward_weights::primitive_desc weights(
      {how, x, w, y, strides, before, after}, engine(), forward);
  return {dnnl::convolution_backward_weights(weights), weights.src_desc(), weights.diff_dst_desc(),
          weights.diff_weights_desc()};
}

/// An operand as the primitive wants it and, where the program has it otherwise, the copy between
/// the two.
struct Operand {
  memory own, held;
  dnnl::reorder copy;
  bool copies = false;

  Operand(float* data, const rt::Shape& shape, const memory::desc& wanted, bool reorders,
          bool isResult, std::size_t place) {
    const memory::desc plain({shape.begin(), shape.end()}, memory::data_type::f32,
                             memory::format_tag::abcd);
    copies = reorders && plain != wanted;
    own = memory(plain, engine(), data);
    held = memory(wanted, engine(), copies ? Pool::instance().staged(place) : data);
    if (copies) copy = isResult ? dnnl::reorder(held, own) : dnnl::reorder(own, held);
  }
  void bring() {
    if (copies) copy.execute(stream(), own, held);
  }
  void takeBack() {
    if (copies) copy.execute(stream(), held, own);
  }
};

std::function<void()> ofTheLibrary(const Convolution& c, ConvPass pass, bool reordersPictures) {
  const Choice choice = choose(
      c, pass,
      c.byWinograd() ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct);
  const Places at(pass);
  const auto operands = std::make_shared<std::vector<Operand>>();
  operands->emplace_back(at.x, c.x(), choice.x, reordersPictures, pass == ConvPass::Data, 0);
  operands->emplace_back(at.y, c.y(), choice.y, reordersPictures, pass == ConvPass::Forward, 1);
  operands->emplace_back(at.weight, c.weight(), choice.weight, true, pass == ConvPass::Weights, 2);
  const std::size_t result = pass == ConvPass::Data ? 0 : pass == ConvPass::Forward ? 1 : 2;
  const std::unordered_map<int, memory> arguments{
      {pass == ConvPass::Data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, (*operands)[0].held},
      {pass == ConvPass::Forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, (*operands)[1].held},
      {pass == ConvPass::Weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, (*operands)[2].held}};
  return [=, primitive = choice.primitive] {
    for (std::size_t i = 0; i < operands->size(); ++i) {
      if (i != result) (*operands)[i].bring();
    }
    primitive.execute(stream(), arguments);
    (*operands)[result].takeBack();
    stream().wait();
  };
}

}  // namespace

Convolutions::Convolutions(PictureOrder order) {
  for (const Convolution& c : kConvolutions) {
    for (const ConvPass pass : {ConvPass::Forward, ConvPass::Data, ConvPass::Weights}) {
      if (pass == ConvPass::Data && &c == kConvolutions) continue;  // pictures have no gradient
      passes_.push_back({c.times, order == PictureOrder::ChannelsLast
                                      ? ofTheRuntime(c, pass)
                                      : ofTheLibrary(c, pass, order == PictureOrder::Reordered)});
    }
  }
}

double Convolutions::step() {
  double sum = 0;
  for (const Pass& pass : passes_) {
    const auto start = std::chrono::steady_clock::now();
    pass.run();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    sum += pass.times * took.count();
  }
  return sum;
}

}  // namespace bench
