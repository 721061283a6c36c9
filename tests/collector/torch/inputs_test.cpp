// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "torch/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace lacuna::collector::torch {
namespace {

constexpr std::uint32_t kTensor = 1, kNumber = 5, kList = 14, kNone = 0;
constexpr std::uint16_t kF32 = 6, kF64 = 7, kI64 = 4;
using Shape = std::vector<std::int64_t>;

/// Objects with PyTorch's layout; where in them things stand is up to the test.
class Objects {
 public:
  explicit Objects(std::size_t shapeAt = 5, std::size_t listAt = 2, std::size_t inputsAt = 9)
      : shapeAt_(shapeAt), listAt_(listAt), inputsAt_(inputsAt) {}

  const void* tensor(const Shape& shape, std::uint16_t type) {
    auto& words = object();
    words[shapeAt_] = shape.size();
    if (shape.size() <= 5) {
      std::copy(shape.begin(), shape.end(),
                words.begin() + static_cast<std::ptrdiff_t>(shapeAt_) + 1);
    } else {
      auto& sizes = object();
      std::copy(shape.begin(), shape.end(), sizes.begin());
      words[shapeAt_ + 1] = reinterpret_cast<std::uint64_t>(sizes.data());
    }
    words[shapeAt_ + 12] = static_cast<std::uint64_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
    words[shapeAt_ + 13] = type | 0xABCD0000U;  // the device and more stand behind the type
    return words.data();
  }

  struct Value {
    std::uint64_t content;
    std::uint64_t tag;
  };
  static Value of(const void* tensor) { return {reinterpret_cast<std::uint64_t>(tensor), kTensor}; }
  static Value number(std::int64_t value) { return {static_cast<std::uint64_t>(value), kNumber}; }
  Value list(const std::vector<Value>& values) {
    auto& kept = lists_.emplace_back(values);
    auto& words = object();
    words[listAt_] = reinterpret_cast<std::uint64_t>(kept.data());
    words[listAt_ + 1] = reinterpret_cast<std::uint64_t>(kept.data() + kept.size());
    return {reinterpret_cast<std::uint64_t>(words.data()), kList};
  }
  /// An operator's record.
  const void* call(const std::vector<Value>& inputs) {
    auto& kept = lists_.emplace_back(inputs);
    auto& words = object();
    words[inputsAt_] = reinterpret_cast<std::uint64_t>(kept.data());
    words[inputsAt_ + 1] = kept.size();
    return words.data();
  }

 private:
  using Object = std::array<std::uint64_t, 64>;
  Object& object() {
    auto& words = objects_.emplace_back();
    words.fill(3);  // looks like a number of inputs or of dimensions
    return words;
  }

  std::size_t shapeAt_, listAt_, inputsAt_;
  std::deque<Object> objects_;
  std::deque<std::vector<Value>> lists_;
};

TrialTensors trialOf(Objects& objects, const Shape& shape, std::uint16_t type) {
  TrialTensors tensors{
      .first = objects.tensor(shape, type), .second = objects.tensor(shape, type), .type = type};
  std::copy(shape.begin(), shape.end(), tensors.shape);
  return tensors;
}

void tryAll(Inputs& inputs, Objects& objects, const TrialTensors& tensors) {
  const auto first = Objects::of(tensors.first), second = Objects::of(tensors.second);
  inputs.tryOperands(objects.call({first, second, Objects::number(1)}), tensors);
  inputs.tryList(objects.call({objects.list({first, second}), Objects::number(0)}), tensors);
}

Inputs foundIn(Objects& objects) {
  Inputs inputs;
  tryAll(inputs, objects, trialOf(objects, {3, 5, 7}, kF32));
  tryAll(inputs, objects, trialOf(objects, {11, 2, 13}, kF64));
  tryAll(inputs, objects, trialOf(objects, {17, 4, 9}, kI64));
  return inputs;
}

std::string described(const Inputs& inputs, const void* call, std::size_t room = 256) {
  std::string text(room, '#');
  text.resize(inputs.describe(call, text.data(), room));
  return text;
}

TEST(TorchInputs, AreFoundWhereverThisPyTorchKeepsThem) {
  for (const auto& [shapeAt, listAt, inputsAt] :
       {std::array<std::size_t, 3>{3, 1, 5}, {7, 3, 20}, {12, 2, 40}}) {
    Objects objects(shapeAt, listAt, inputsAt);
    const Inputs inputs = foundIn(objects);
    ASSERT_TRUE(inputs.found());
    const auto call = objects.call(
        {Objects::of(objects.tensor({8, 4}, kF32)), Objects::of(objects.tensor({2, 4}, kF64))});
    EXPECT_EQ(described(inputs, call), "f32[8,4] f64[2,4]");
  }
}

TEST(TorchInputs, TakeThreeTrialsThatAgree) {
  Objects objects, others(6);
  Inputs inputs;
  tryAll(inputs, objects, trialOf(objects, {3, 5, 7}, kF32));
  tryAll(inputs, objects, trialOf(objects, {11, 2, 13}, kF64));
  EXPECT_FALSE(inputs.found());
  tryAll(inputs, others, trialOf(others, {17, 4, 9}, kI64));
  EXPECT_FALSE(inputs.found());
}

TEST(TorchInputs, AreNotFoundAmongMemoryThatHoldsNone) {
  Objects objects;
  Inputs inputs;
  for (int i = 0; i < 3; ++i) {
    const TrialTensors tensors = trialOf(objects, {3, 5, 7}, kF32);
    inputs.tryOperands(objects.call({}), tensors);
    inputs.tryList(objects.call({}), tensors);
  }
  EXPECT_FALSE(inputs.found());
}

TEST(TorchInputs, ShowListsAndLeaveOutWhatIsNoTensor) {
  Objects objects;
  const Inputs inputs = foundIn(objects);
  const auto tensor = [&](const Shape& shape) { return Objects::of(objects.tensor(shape, kF32)); };
  const Objects::Value none{0, kNone};
  const auto numbers = objects.list({Objects::number(2), Objects::number(1)});
  EXPECT_EQ(described(inputs, objects.call({tensor({8, 3, 32, 32}), tensor({16, 3, 3, 3}), none,
                                            numbers, Objects::number(1)})),
            "f32[8,3,32,32] f32[16,3,3,3] (2,1)");
  EXPECT_EQ(described(inputs,
                      objects.call({objects.list({tensor({4}), tensor({})}), Objects::number(0)})),
            "{f32[4] f32[]}");
  EXPECT_EQ(described(inputs, objects.call({tensor({1, 2, 3, 4, 5, 6})})), "f32[1,2,3,4,5,6]");
  EXPECT_EQ(described(inputs, objects.call({objects.list({}), tensor({2})})), "f32[2]");
  EXPECT_EQ(described(inputs, objects.call({numbers, Objects::number(3)})), "");
  EXPECT_EQ(described(inputs, objects.call({})), "");
}

TEST(TorchInputs, ThatDoNotFitAreCutBehindACompleteTensor) {
  Objects objects;
  const Inputs inputs = foundIn(objects);
  std::vector<Objects::Value> many(60, Objects::of(objects.tensor({128, 256}, kF32)));
  EXPECT_EQ(described(inputs, objects.call({objects.list(many)}), 40),
            "{f32[128,256] f32[128,256] ...");
}

}  // namespace
}  // namespace lacuna::collector::torch
