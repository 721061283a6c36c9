// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "lacuna/runtime/nn_sequence.h"
#include "lacuna/runtime/ops_image.h"
#include "support/message_of.h"

/// The errors of operators for tensors that are not defined. page_test.cpp holds this list against
/// the headers.
namespace lacuna::rt {
namespace {

/// Makes the arguments of a call; one may be missing.
struct Arguments {
  int missing = -1;
  [[nodiscard]] Tensor operator()(int which, Shape shape, DType type = DType::F32) const {
    return which == missing ? Tensor() : zeros(shape, {type});
  }
  [[nodiscard]] Tensor index(int which, Shape shape) const {
    return (*this)(which, shape, DType::I64);
  }
};

struct Call {
  const char* what;
  const char* op;
  std::vector<const char*> arguments;
  std::function<void(const Arguments&)> run;
};
void PrintTo(const Call& call, std::ostream* out) {
  *out << call.what;
}

#define LACUNA_TRY(call) [](const Arguments& x) { (void)(call); }
#define LACUNA_UNARY(function, op) \
  { op, op, {"x"}, LACUNA_TRY(function(x(0, {2, 3}))) }
#define LACUNA_BINARY(function, op) \
  { op, op, {"a", "b"}, LACUNA_TRY(function(x(0, {2, 3}), x(1, {2, 3}))) }
#define LACUNA_MEMBER(what, op, call) \
  { what, op, {"the tensor"}, LACUNA_TRY(x(0, {2, 3}).call) }

const Call kCalls[] = {
    LACUNA_BINARY(add, "add"),
    LACUNA_BINARY(sub, "sub"),
    LACUNA_BINARY(mul, "mul"),
    LACUNA_BINARY(div, "div"),
    LACUNA_BINARY(pow, "pow"),
    LACUNA_BINARY(maximum, "maximum"),
    LACUNA_BINARY(minimum, "minimum"),
    LACUNA_BINARY(equal, "equal"),
    LACUNA_BINARY(notEqual, "not_equal"),
    LACUNA_BINARY(less, "less"),
    LACUNA_BINARY(lessEqual, "less_equal"),
    LACUNA_BINARY(greater, "greater"),
    LACUNA_BINARY(greaterEqual, "greater_equal"),
    LACUNA_BINARY(logicalAnd, "logical_and"),
    LACUNA_BINARY(logicalOr, "logical_or"),
    LACUNA_UNARY(logicalNot, "logical_not"),
    LACUNA_UNARY(isFinite, "is_finite"),
    {"where",
     "where",
     {"condition", "a", "b"},
     LACUNA_TRY(where(x(0, {2}, DType::Bool), x(1, {2}), x(2, {2}, DType::F64)))},
    {"add_scalar", "add_scalar", {"a"}, LACUNA_TRY(add(x(0, {2}), 1))},
    {"mul_scalar", "mul_scalar", {"a"}, LACUNA_TRY(mul(x(0, {2}), 2))},
    {"div_scalar", "div_scalar", {"a"}, LACUNA_TRY(div(x(0, {2}), 2))},
    {"pow_scalar", "pow_scalar", {"a"}, LACUNA_TRY(pow(x(0, {2}), 2))},
    LACUNA_UNARY(neg, "neg"),
    LACUNA_UNARY(abs, "abs"),
    LACUNA_UNARY(exp, "exp"),
    LACUNA_UNARY(log, "log"),
    LACUNA_UNARY(log1p, "log1p"),
    LACUNA_UNARY(sqrt, "sqrt"),
    LACUNA_UNARY(rsqrt, "rsqrt"),
    LACUNA_UNARY(reciprocal, "reciprocal"),
    LACUNA_UNARY(square, "square"),
    LACUNA_UNARY(sin, "sin"),
    LACUNA_UNARY(cos, "cos"),
    LACUNA_UNARY(erf, "erf"),
    LACUNA_UNARY(tanh, "tanh"),
    LACUNA_UNARY(sigmoid, "sigmoid"),
    LACUNA_UNARY(relu, "relu"),
    LACUNA_UNARY(leakyRelu, "leaky_relu"),
    LACUNA_UNARY(elu, "elu"),
    LACUNA_UNARY(gelu, "gelu"),
    LACUNA_UNARY(silu, "silu"),
    LACUNA_UNARY(softplus, "softplus"),
    {"clamp", "clamp", {"x"}, LACUNA_TRY(clamp(x(0, {2}), 0, 1))},
    LACUNA_UNARY(sign, "sign"),
    LACUNA_UNARY(floor, "floor"),
    LACUNA_UNARY(ceil, "ceil"),
    LACUNA_UNARY(round, "round"),
    LACUNA_UNARY(sum, "sum"),
    LACUNA_UNARY(mean, "mean"),
    LACUNA_UNARY(max, "max"),
    LACUNA_UNARY(min, "min"),
    LACUNA_UNARY(var, "var"),
    {"argmax", "argmax", {"x"}, LACUNA_TRY(argmax(x(0, {2}), 0))},
    {"argmin", "argmin", {"x"}, LACUNA_TRY(argmin(x(0, {2}), 0))},
    {"matmul", "matmul", {"a", "b"}, LACUNA_TRY(matmul(x(0, {2, 3}), x(1, {3, 2})))},
    {"linear", "linear", {"x", "weight"}, LACUNA_TRY(linear(x(0, {2, 3}), x(1, {4, 3})))},
    {"softmax", "softmax", {"x"}, LACUNA_TRY(softmax(x(0, {2, 3}), 1))},
    {"log_softmax", "log_softmax", {"x"}, LACUNA_TRY(logSoftmax(x(0, {2, 3}), 0))},
    {"cross_entropy",
     "cross_entropy",
     {"scores", "target"},
     LACUNA_TRY(crossEntropy(x(0, {2, 3}), x.index(1, {2})))},
    {"nll_loss",
     "nll_loss",
     {"logProbabilities", "target"},
     LACUNA_TRY(nllLoss(x(0, {2, 3}), x.index(1, {2})))},
    {"mse_loss", "mse_loss", {"x", "target"}, LACUNA_TRY(mseLoss(x(0, {2}), x(1, {2})))},
    {"l1_loss", "l1_loss", {"x", "target"}, LACUNA_TRY(l1Loss(x(0, {2}), x(1, {2})))},
    {"bce_with_logits",
     "bce_with_logits",
     {"x", "target"},
     LACUNA_TRY(bceWithLogits(x(0, {2}), x(1, {2})))},
    {"embedding",
     "embedding",
     {"weight", "index"},
     LACUNA_TRY(embedding(x(0, {2, 3}), x.index(1, {2})))},
    {"index_select",
     "index_select",
     {"x", "index"},
     LACUNA_TRY(indexSelect(x(0, {2, 3}), 0, x.index(1, {2})))},
    {"gather", "gather", {"x", "index"}, LACUNA_TRY(gather(x(0, {2, 3}), 0, x.index(1, {2, 3})))},
    {"scatter",
     "scatter",
     {"x", "index", "values"},
     LACUNA_TRY(scatter(x(0, {2, 3}), 0, x.index(1, {1, 3}), x(2, {1, 3})))},
    {"scatter_add",
     "scatter_add",
     {"x", "index", "values"},
     LACUNA_TRY(
         scatterAdd(x(0, {2, 3}, DType::BF16), 0, x.index(1, {1, 3}), x(2, {1, 3}, DType::BF16)))},
    {"concat", "concat", {"part 0", "part 1"}, LACUNA_TRY(concat({x(0, {2}), x(1, {2})}, 0))},
    {"stack", "stack", {"part 0", "part 1"}, LACUNA_TRY(stack({x(0, {2}), x(1, {2})}, 0))},
    {"split", "split", {"x"}, LACUNA_TRY(split(x(0, {2, 3}), 1, 0))},
    {"unbind", "unbind", {"x"}, LACUNA_TRY(unbind(x(0, {2, 3}), 0))},
    {"dropout", "dropout", {"x"}, LACUNA_TRY(dropout(x(0, {2, 3}), 0.5, false))},
    {"attention",
     "attention",
     {"query", "key", "value"},
     LACUNA_TRY(attention(x(0, {2, 3, 4}), x(1, {2, 3, 4}), x(2, {2, 3, 4})))},
    {"layer_norm", "layer_norm", {"x"}, LACUNA_TRY(layerNorm(x(0, {2, 3}), {3}, {}, {}))},
    {"batch_norm", "batch_norm", {"x"}, LACUNA_TRY(batchNorm(x(0, {2, 3}), {}, {}, {}, {}, true))},
    {"group_norm", "group_norm", {"x"}, LACUNA_TRY(groupNorm(x(0, {2, 4}), 2, {}, {}))},
    {"instance_norm", "instance_norm", {"x"}, LACUNA_TRY(instanceNorm(x(0, {2, 4, 3}), {}, {}))},

    {"conv2d",
     "conv2d",
     {"x", "weight"},
     LACUNA_TRY(conv2d(x(0, {1, 2, 4, 4}), x(1, {3, 2, 3, 3})))},
    {"conv_transpose2d",
     "conv_transpose2d",
     {"x", "weight"},
     LACUNA_TRY(convTranspose2d(x(0, {1, 2, 4, 4}), x(1, {2, 3, 3, 3})))},
    {"max_pool2d", "max_pool2d", {"x"}, LACUNA_TRY(maxPool2d(x(0, {1, 2, 4, 4}), {}))},
    {"avg_pool2d", "avg_pool2d", {"x"}, LACUNA_TRY(avgPool2d(x(0, {1, 2, 4, 4}), {}))},
    {"adaptive_avg_pool2d",
     "adaptive_avg_pool2d",
     {"x"},
     LACUNA_TRY(adaptiveAvgPool2d(x(0, {1, 2, 4, 4})))},
    {"interpolate", "interpolate", {"x"}, LACUNA_TRY(interpolate(x(0, {1, 2, 4, 4}), 2))},
    {"up_fir_dn2d", "up_fir_dn2d", {"x"}, LACUNA_TRY(upFirDn2d(x(0, {1, 2, 4, 4}), {1, 1}))},
    {"blur2d", "blur2d", {"x"}, LACUNA_TRY(blur2d(x(0, {1, 2, 4, 4}), {1, 1}))},
    {"lstm",
     "lstm",
     {"x", "weights.input", "weights.hidden"},
     LACUNA_TRY(lstm(x(0, {2, 3, 4}), {x(1, {8, 4}), x(2, {8, 2}), {}, {}}))},
    {"gru",
     "gru",
     {"x", "weights.input", "weights.hidden"},
     LACUNA_TRY(gru(x(0, {2, 3, 4}), {x(1, {6, 4}), x(2, {6, 2}), {}, {}}))},

    LACUNA_MEMBER("view", "view", view({3, 2})),
    LACUNA_MEMBER("reshape", "reshape", reshape({3, 2})),
    LACUNA_MEMBER("flatten", "flatten", flatten()),
    LACUNA_MEMBER("permute", "permute", permute({1, 0})),
    LACUNA_MEMBER("transpose", "transpose", transpose(0, 1)),
    LACUNA_MEMBER("expand", "expand", expand({4, 2, 3})),
    LACUNA_MEMBER("squeeze", "squeeze", squeeze(0)),
    LACUNA_MEMBER("unsqueeze", "unsqueeze", unsqueeze(0)),
    LACUNA_MEMBER("slice", "slice", slice(0, 0, 1)),
    LACUNA_MEMBER("select", "select", select(0, 0)),
    LACUNA_MEMBER("contiguous", "contiguous", contiguous()),
    LACUNA_MEMBER("clone", "clone", clone()),
    LACUNA_MEMBER("to_a_type", "to", to(DType::F64)),
    LACUNA_MEMBER("to_a_device", "to", to(kMeta)),
    LACUNA_MEMBER("fill_", "fill_", fill_(1)),
    LACUNA_MEMBER("mul_by_a_number", "mul_", mul_(2)),
    {"copy_", "copy_", {"the tensor", "source"}, LACUNA_TRY(x(0, {2}).copy_(x(1, {2})))},
    {"add_", "add_", {"the tensor", "other"}, LACUNA_TRY(x(0, {2}).add_(x(1, {2}, DType::F64)))},
    {"mul_", "mul_", {"the tensor", "other"}, LACUNA_TRY(x(0, {2}).mul_(x(1, {2})))},
    {"empty_like", "empty_like", {"the tensor"}, LACUNA_TRY(emptyLike(x(0, {2})))},
    {"zeros_like", "zeros_like", {"the tensor"}, LACUNA_TRY(zerosLike(x(0, {2})))},
};

class WithoutATensor : public testing::TestWithParam<Call> {};

TEST_P(WithoutATensor, ItIsRefusedWithTheOperatorAndTheArgument) {
  const Call& call = GetParam();
  EXPECT_NO_THROW(call.run({})) << "with all of them it runs";
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    EXPECT_THAT(
        test::messageOf([&] { call.run({static_cast<int>(i)}); }),
        testing::StartsWith(std::string(call.op) + ": " + call.arguments[i] + " is not defined"));
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, WithoutATensor, testing::ValuesIn(kCalls),
                         [](const auto& info) { return std::string(info.param.what); });

}  // namespace
}  // namespace lacuna::rt
