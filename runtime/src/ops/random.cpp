// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/random.h"

#include <cstdint>
#include <mutex>
#include <numeric>
#include <span>

#include "backend/backend.h"
#include "core/fork_locks.h"
#include "tensor/node.h"
#include "tensor/trace.h"

namespace lacuna::rt {

namespace {

std::mutex gMutex;
RandomState gState{0, 0};

graph::DrawPlace nextDraw() {
  const RandomState draw = graph::takeDraws(1);
  return graph::tTrace == nullptr ? graph::DrawPlace{draw} : graph::tTrace->placeOf(draw);
}

/// False where an integer type lacks some of [low, high); a floating one rounds.
bool holds(DType type, std::int64_t low, std::int64_t high) {
  switch (type) {
    case DType::Bool:
      return low >= 0 && high <= 2;
    case DType::U8:
      return low >= 0 && high <= 256;
    case DType::I32:
      return low >= INT32_MIN && high - 1 <= INT32_MAX;
    default:
      return true;
  }
}

const OpInfo kRand{"rand", zeroBackward};
const OpInfo kRandn{"randn", zeroBackward};
const OpInfo kRandint{"randint"};
const OpInfo kRandperm{"randperm"};

using Draw = void (*)(const View& out, RandomState state, double, double);

Tensor& drawInto(const OpInfo& info, Tensor& tensor, Draw draw, double a, double b) {
  Op op(info, {&tensor});
  if (!tensor.isContiguous())
    op.fail("the tensor " + tensor.shape().toString() + " must be contiguous");
  beginInPlace(op, tensor);
  op.launch(tensor.device(), {tensor.sizeBytes()},
            [to = viewOf(tensor), state = nextDraw(), draw, a, b] { draw(to, state, a, b); });
  op.record({&tensor}, {&tensor});
  return tensor;
}

Tensor drawn(const OpInfo& info, const Shape& shape, const Options& options, Draw draw, double a,
             double b) {
  const Op op(info, {});
  Tensor out = empty(shape, options);
  op.launch(options.device, {out.sizeBytes()},
            [to = viewOf(out), state = nextDraw(), draw, a, b] { draw(to, state, a, b); });
  return out;
}

const ForkLock kRandomForkLock{LockOrder::Random, [] { gMutex.lock(); }, [] { gMutex.unlock(); }};

}  // namespace

void manualSeed(std::uint64_t seed) {
  setRandomState({seed, 0});
}
RandomState randomState() {
  const std::lock_guard lock(gMutex);
  return gState;
}
void setRandomState(RandomState state) {
  const std::lock_guard lock(gMutex);
  gState = state;
}
RandomState graph::takeDraws(std::uint64_t count) {
  const std::lock_guard lock(gMutex);
  const RandomState first = gState;
  gState.draws += count;
  return first;
}

Tensor& uniform_(Tensor& tensor, double low, double high) {
  return drawInto(kRand, tensor, kernel::uniform, low, high);
}

Tensor& normal_(Tensor& tensor, double mean, double deviation) {
  return drawInto(kRandn, tensor, kernel::normal, mean, deviation);
}

Tensor uniform(const Shape& shape, double low, double high, Options options) {
  return drawn(kRand, shape, options, kernel::uniform, low, high);
}

Tensor rand(const Shape& shape, Options options) {
  return uniform(shape, 0, 1, options);
}

Tensor randn(const Shape& shape, Options options) {
  return drawn(kRandn, shape, options, kernel::normal, 0, 1);
}

Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Options options) {
  const Op op(kRandint, {});
  const auto range = [&] { return "[" + std::to_string(low) + ", " + std::to_string(high) + ")"; };
  if (high <= low) op.fail("nothing lies in " + range());
  if (!holds(options.dtype, low, high))
    op.fail(std::string(name(options.dtype)) + " does not hold all of " + range());
  Tensor out = empty(shape, options);
  op.launch(out.device(), {out.sizeBytes()}, [to = viewOf(out), draw = nextDraw(), low, high] {
    kernel::randint(to, draw, low, high);
  });
  return out;
}

Tensor randperm(std::int64_t count) {
  const Op op(kRandperm, {});
  if (count < 0) op.fail("of " + std::to_string(count) + " numbers");
  Tensor out = emptyHost({count}, DType::I64);
  const std::span order(static_cast<std::int64_t*>(out.data()), static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  const RandomState draw = graph::takeDraws(1);
  std::uint64_t state = draw.seed * 0x9E3779B97F4A7C15U + draw.draws * 0xD1B54A32D192ED03U + 1;
  for (std::size_t i = order.size(); i > 1; --i) {
    state += 0x9E3779B97F4A7C15U;  // splitmix64
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    std::swap(order[i - 1], order[(z ^ (z >> 31)) % i]);
  }
  return out;
}

}  // namespace lacuna::rt
