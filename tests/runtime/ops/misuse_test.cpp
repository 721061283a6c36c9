// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "lacuna/runtime/nn_sequence.h"
#include "lacuna/runtime/ops_image.h"
#include "support/message_of.h"

/// The errors of operators for shapes that do not fit.
namespace lacuna::rt {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Makes tensors of one device.
struct Maker {
  Device device;
  Tensor operator()(Shape shape) const { return empty(shape, {DType::F32, device}); }
  [[nodiscard]] Tensor index(Shape shape) const { return zeros(shape, {DType::I64, device}); }
  [[nodiscard]] Tensor truth(Shape shape) const { return zeros(shape, {DType::Bool, device}); }
};

struct Misuse {
  const char* what;
  const char* op;
  std::vector<const char*> shapes;
  std::function<void(const Maker&)> call;
};
void PrintTo(const Misuse& test, std::ostream* out) {
  *out << test.what;
}

#define LACUNA_CALL(call) [](const Maker& x) { (void)(call); }

const Misuse kMisuses[] = {
    {"add", "add", {"[2,3]", "[2,4]"}, LACUNA_CALL(x({2, 3}) + x({2, 4}))},
    {"sub", "sub", {"[3]", "[2]"}, LACUNA_CALL(x({3}) - x({2}))},
    {"mul", "mul", {"[2,3]", "[3,2]"}, LACUNA_CALL(x({2, 3}) * x({3, 2}))},
    {"div", "div", {"[2,3]", "[4]"}, LACUNA_CALL(x({2, 3}) / x({4}))},
    {"pow", "pow", {"[2]", "[3]"}, LACUNA_CALL(pow(x({2}), x({3})))},
    {"maximum", "maximum", {"[2]", "[3]"}, LACUNA_CALL(maximum(x({2}), x({3})))},
    {"minimum", "minimum", {"[2]", "[3]"}, LACUNA_CALL(minimum(x({2}), x({3})))},
    {"equal", "equal", {"[2]", "[3]"}, LACUNA_CALL(equal(x({2}), x({3})))},
    {"logical_and",
     "logical_and",
     {"[2]", "[3]"},
     LACUNA_CALL(logicalAnd(x.truth({2}), x.truth({3})))},
    {"where_values", "where", {"[2]", "[3]"}, LACUNA_CALL(where(x.truth({2}), x({2}), x({3})))},
    {"where_condition", "where", {"[4]", "[3]"}, LACUNA_CALL(where(x.truth({4}), x({3}), x({1})))},
    {"add_in_place", "add_", {"[3]", "[2,3]"}, LACUNA_CALL(x({3}).add_(x({2, 3})))},
    {"mul_in_place", "mul_", {"[3]", "[2,3]"}, LACUNA_CALL(x({3}).mul_(x({2, 3})))},
    {"copy_in_place", "copy_", {"[3]", "[2,3]"}, LACUNA_CALL(x({3}).copy_(x({2, 3})))},
    {"sum", "sum", {"[2,3]", "dimension 2"}, LACUNA_CALL(sum(x({2, 3}), {2}))},
    {"mean", "mean", {"[2,3]", "dimension -3"}, LACUNA_CALL(mean(x({2, 3}), {-3}))},
    {"var", "var", {"[2,3]", "dimension 2"}, LACUNA_CALL(var(x({2, 3}), {2}))},
    {"max_of_nothing", "max", {"[2,0]"}, LACUNA_CALL(max(x({2, 0}), {1}))},
    {"min_of_nothing", "min", {"[0]"}, LACUNA_CALL(min(x({0})))},
    {"argmax_dimension", "argmax", {"[2,3]", "dimension 2"}, LACUNA_CALL(argmax(x({2, 3}), 2))},
    {"argmax_of_nothing", "argmax", {"[2,0]"}, LACUNA_CALL(argmax(x({2, 0}), 1))},
    {"argmin_of_a_scalar", "argmin", {"[]"}, LACUNA_CALL(argmin(x({}), 0))},
    {"matmul", "matmul", {"[2,3]", "[4,5]"}, LACUNA_CALL(matmul(x({2, 3}), x({4, 5})))},
    {"matmul_of_many",
     "matmul",
     {"[2,2,3]", "[4,3,5]"},
     LACUNA_CALL(matmul(x({2, 2, 3}), x({4, 3, 5})))},
    {"matmul_of_a_scalar", "matmul", {"[]", "[2,3]"}, LACUNA_CALL(matmul(x({}), x({2, 3})))},
    {"linear", "linear", {"[2,3]", "[5,4]"}, LACUNA_CALL(linear(x({2, 3}), x({5, 4})))},
    {"linear_bias", "linear", {"[4]", "[5,3]"}, LACUNA_CALL(linear(x({2, 3}), x({5, 3}), x({4})))},
    {"softmax", "softmax", {"[2,3]", "dimension 2"}, LACUNA_CALL(softmax(x({2, 3}), 2))},
    {"log_softmax",
     "log_softmax",
     {"[2,3]", "dimension -3"},
     LACUNA_CALL(logSoftmax(x({2, 3}), -3))},
    {"cross_entropy",
     "cross_entropy",
     {"[2,3]", "[3]"},
     LACUNA_CALL(crossEntropy(x({2, 3}), x.index({3})))},
    {"nll_loss", "nll_loss", {"[2,3]", "[2,1]"}, LACUNA_CALL(nllLoss(x({2, 3}), x.index({2, 1})))},
    {"cross_entropy_weight",
     "cross_entropy",
     {"[2,3]", "[4]"},
     LACUNA_CALL(crossEntropy(x({2, 3}), x.index({2}), Reduction::Mean, 0, -100, x({4})))},
    {"mse_loss", "mse_loss", {"[2,3]", "[2]"}, LACUNA_CALL(mseLoss(x({2, 3}), x({2})))},
    {"l1_loss", "l1_loss", {"[2,3]", "[3]"}, LACUNA_CALL(l1Loss(x({2, 3}), x({3})))},
    {"bce_with_logits",
     "bce_with_logits",
     {"[2,3]", "[2,2]"},
     LACUNA_CALL(bceWithLogits(x({2, 3}), x({2, 2})))},
    {"bce_weight",
     "bce_with_logits",
     {"[2,3]", "[5]"},
     LACUNA_CALL(bceWithLogits(x({2, 3}), x({2, 3}), Reduction::Mean, x({5})))},
    {"embedding", "embedding", {"[4]"}, LACUNA_CALL(embedding(x({4}), x.index({2})))},
    {"embedding_rank",
     "embedding",
     {"[1,1,1,1,1,1,1,1]", "[4,2]"},
     LACUNA_CALL(embedding(x({4, 2}), x.index({1, 1, 1, 1, 1, 1, 1, 1})))},
    {"index_select",
     "index_select",
     {"[2,2]"},
     LACUNA_CALL(indexSelect(x({4, 2}), 0, x.index({2, 2})))},
    {"index_select_dimension",
     "index_select",
     {"[4,2]", "dimension 2"},
     LACUNA_CALL(indexSelect(x({4, 2}), 2, x.index({2})))},
    {"gather", "gather", {"[3,2]", "[2,4]"}, LACUNA_CALL(gather(x({2, 4}), 1, x.index({3, 2})))},
    {"gather_dimension",
     "gather",
     {"[2,4]", "dimension -3"},
     LACUNA_CALL(gather(x({2, 4}), -3, x.index({2, 2})))},
    {"scatter",
     "scatter",
     {"[2,2]", "[2,3]"},
     LACUNA_CALL(scatter(x({2, 4}), 1, x.index({2, 2}), x({2, 3})))},
    {"scatter_add",
     "scatter_add",
     {"[3,2]", "[2,4]"},
     LACUNA_CALL(scatterAdd(x({2, 4}), 1, x.index({3, 2}), x({3, 2})))},
    {"concat", "concat", {"[2,3]", "[3,4]"}, LACUNA_CALL(concat({x({2, 3}), x({3, 4})}, 0))},
    {"concat_dimension", "concat", {"[2,3]", "dimension 2"}, LACUNA_CALL(concat({x({2, 3})}, 2))},
    {"concat_of_scalars", "concat", {"[]"}, LACUNA_CALL(concat({x({}), x({})}, 0))},
    {"stack", "stack", {"[2,3]", "[3,2]"}, LACUNA_CALL(stack({x({2, 3}), x({3, 2})}, 0))},
    {"stack_dimension", "stack", {"[2,3]", "dimension 3"}, LACUNA_CALL(stack({x({2, 3})}, 3))},
    {"stack_rank",
     "stack",
     {"[1,1,1,1,1,1,1,2]"},
     LACUNA_CALL(stack({x({1, 1, 1, 1, 1, 1, 1, 2})}, 0))},
    {"split", "split", {"[2,3]", "pieces of 0"}, LACUNA_CALL(split(x({2, 3}), 0, 0))},
    {"split_dimension", "split", {"[2,3]", "dimension 2"}, LACUNA_CALL(split(x({2, 3}), 1, 2))},
    {"unbind", "unbind", {"[2,3]", "dimension 2"}, LACUNA_CALL(unbind(x({2, 3}), 2))},
    {"attention",
     "attention",
     {"[2,4,3]", "[2,4,5]"},
     LACUNA_CALL(attention(x({2, 4, 3}), x({2, 4, 5}), x({2, 4, 3})))},
    {"attention_mask",
     "attention",
     {"[3,3]", "[2,4,4]"},
     LACUNA_CALL(attention(x({2, 4, 3}), x({2, 4, 3}), x({2, 4, 3}), x.truth({3, 3})))},
    {"layer_norm", "layer_norm", {"[2,3]", "[4]"}, LACUNA_CALL(layerNorm(x({2, 3}), {4}, {}, {}))},
    {"layer_norm_over_nothing",
     "layer_norm",
     {"[2,3]"},
     LACUNA_CALL(layerNorm(x({2, 3}), {}, {}, {}))},
    {"layer_norm_weight",
     "layer_norm",
     {"[2]", "[2,3]"},
     LACUNA_CALL(layerNorm(x({2, 3}), {3}, x({2}), {}))},
    {"batch_norm", "batch_norm", {"[3]"}, LACUNA_CALL(batchNorm(x({3}), {}, {}, {}, {}, true))},
    {"batch_norm_weight",
     "batch_norm",
     {"[2]", "[4,3]"},
     LACUNA_CALL(batchNorm(x({4, 3}), x({2}), {}, {}, {}, true))},
    {"batch_norm_of_one_value",
     "batch_norm",
     {"[1,3]"},
     LACUNA_CALL(batchNorm(x({1, 3}), {}, {}, {}, {}, true))},
    {"batch_norm_without_statistics",
     "batch_norm",
     {"[4,3]"},
     LACUNA_CALL(batchNorm(x({4, 3}), {}, {}, {}, {}, false))},
    {"group_norm",
     "group_norm",
     {"[2,4]", "3 groups"},
     LACUNA_CALL(groupNorm(x({2, 4}), 3, {}, {}))},
    {"instance_norm", "instance_norm", {"[4]"}, LACUNA_CALL(instanceNorm(x({4}), {}, {}))},

    {"view", "view", {"[2,3]", "[4]"}, LACUNA_CALL(x({2, 3}).view({4}))},
    {"view_of_strides", "view", {"[3,2]", "[6]"}, LACUNA_CALL(x({2, 3}).t().view({6}))},
    {"reshape", "reshape", {"[2,3]", "[-1,4]"}, LACUNA_CALL(x({2, 3}).reshape({-1, 4}))},
    {"flatten_dimension", "flatten", {"[2,3]", "dimension 2"}, LACUNA_CALL(x({2, 3}).flatten(2))},
    {"flatten_backwards", "flatten", {"[2,3]"}, LACUNA_CALL(x({2, 3}).flatten(1, 0))},
    {"permute", "permute", {"[2,3]", "[0,1,2]"}, LACUNA_CALL(x({2, 3}).permute({0, 1, 2}))},
    {"permute_twice", "permute", {"[2,3]", "[1,1]"}, LACUNA_CALL(x({2, 3}).permute({1, 1}))},
    {"transpose", "transpose", {"[2,3]", "dimension 2"}, LACUNA_CALL(x({2, 3}).transpose(0, 2))},
    {"expand", "expand", {"[2,3]", "[4,3]"}, LACUNA_CALL(x({2, 3}).expand({4, 3}))},
    {"squeeze", "squeeze", {"[2,3]", "dimension 2"}, LACUNA_CALL(x({2, 3}).squeeze(2))},
    {"unsqueeze", "unsqueeze", {"[2,3]", "dimension -4"}, LACUNA_CALL(x({2, 3}).unsqueeze(-4))},
    {"unsqueeze_rank",
     "unsqueeze",
     {"[1,1,1,1,1,1,1,2]"},
     LACUNA_CALL(x({1, 1, 1, 1, 1, 1, 1, 2}).unsqueeze(0))},
    {"slice_dimension", "slice", {"[2,3]", "dimension 2"}, LACUNA_CALL(x({2, 3}).slice(2, 0, 1))},
    {"slice_step", "slice", {"[2,3]", "step 0"}, LACUNA_CALL(x({2, 3}).slice(0, 0, 1, 0))},
    {"slice_of_a_scalar", "slice", {"[]"}, LACUNA_CALL(x({}).slice(0, 0, 1))},
    {"select", "select", {"[2,3]", "index 3", "dimension 1"}, LACUNA_CALL(x({2, 3}).select(1, 3))},
    {"select_dimension", "select", {"[2,3]", "dimension 2"}, LACUNA_CALL(x({2, 3}).select(2, 0))},
    {"size", "size", {"[2,3]", "dimension 2"}, LACUNA_CALL(x({2, 3}).size(2))},
    {"item", "item", {"[2,3]"}, LACUNA_CALL(x({2, 3}).item())},
    {"backward", "backward", {"[2,3]"}, LACUNA_CALL(x({2, 3}).setRequiresGrad().backward())},
    {"backward_gradient",
     "backward",
     {"[2,3]", "[3]"},
     LACUNA_CALL(x({2, 3}).setRequiresGrad().backward(x({3})))},
    {"set_grad", "setGrad", {"[2,3]", "[3]"}, LACUNA_CALL((x({2, 3}).setGrad(x({3})), 0))},

    {"conv2d",
     "conv2d",
     {"[1,3,8,8]", "[4,2,3,3]"},
     LACUNA_CALL(conv2d(x({1, 3, 8, 8}), x({4, 2, 3, 3})))},
    {"conv2d_rank",
     "conv2d",
     {"[3,8,8]", "[4,3,3,3]"},
     LACUNA_CALL(conv2d(x({3, 8, 8}), x({4, 3, 3, 3})))},
    {"conv2d_kernel",
     "conv2d",
     {"[1,3,2,2]", "[4,3,3,3]"},
     LACUNA_CALL(conv2d(x({1, 3, 2, 2}), x({4, 3, 3, 3})))},
    {"conv2d_bias",
     "conv2d",
     {"[3]", "[4,3,3,3]"},
     LACUNA_CALL(conv2d(x({1, 3, 8, 8}), x({4, 3, 3, 3}), x({3})))},
    {"conv2d_stride",
     "conv2d",
     {"[1,3,8,8]", "[4,3,3,3]", "stride 0×0"},
     LACUNA_CALL(conv2d(x({1, 3, 8, 8}), x({4, 3, 3, 3}), {}, {.stride = 0}))},
    {"conv2d_groups",
     "conv2d",
     {"[1,3,8,8]", "[4,3,3,3]", "0 groups"},
     LACUNA_CALL(conv2d(x({1, 3, 8, 8}), x({4, 3, 3, 3}), {}, {.groups = 0}))},
    {"conv_transpose2d",
     "conv_transpose2d",
     {"[1,3,8,8]", "[4,2,3,3]"},
     LACUNA_CALL(convTranspose2d(x({1, 3, 8, 8}), x({4, 2, 3, 3})))},
    {"conv_transpose2d_padding",
     "conv_transpose2d",
     {"[1,3,1,1]", "[3,2,1,1]"},
     LACUNA_CALL(convTranspose2d(x({1, 3, 1, 1}), x({3, 2, 1, 1}), {}, {.padding = 2}))},
    {"conv_transpose2d_output_padding",
     "conv_transpose2d",
     {"[1,3,8,8]", "[3,2,3,3]"},
     LACUNA_CALL(convTranspose2d(x({1, 3, 8, 8}), x({3, 2, 3, 3}), {}, {.outputPadding = 2}))},
    {"max_pool2d", "max_pool2d", {"[3,8,8]"}, LACUNA_CALL(maxPool2d(x({3, 8, 8}), {}))},
    {"max_pool2d_window",
     "max_pool2d",
     {"[1,3,2,2]", "3×3"},
     LACUNA_CALL(maxPool2d(x({1, 3, 2, 2}), {.window = 3}))},
    {"max_pool2d_padding",
     "max_pool2d",
     {"[1,3,8,8]", "2×2", "3×3"},
     LACUNA_CALL(maxPool2d(x({1, 3, 8, 8}), {.window = 3, .padding = 2}))},
    {"avg_pool2d_stride",
     "avg_pool2d",
     {"[1,3,8,8]", "0×1"},
     LACUNA_CALL(avgPool2d(x({1, 3, 8, 8}), {.stride = {0, 1}}))},
    {"avg_pool2d_of_nothing",
     "avg_pool2d",
     {"[1,3,0,8]"},
     LACUNA_CALL(avgPool2d(x({1, 3, 0, 8}), {}))},
    {"adaptive_avg_pool2d",
     "adaptive_avg_pool2d",
     {"[1,3,8,8]", "0×0"},
     LACUNA_CALL(adaptiveAvgPool2d(x({1, 3, 8, 8}), 0))},
    {"interpolate",
     "interpolate",
     {"[1,3,8,8]", "0×0"},
     LACUNA_CALL(interpolate(x({1, 3, 8, 8}), 0))},
    {"up_fir_dn2d",
     "up_fir_dn2d",
     {"[1,3,2,2]"},
     LACUNA_CALL(upFirDn2d(x({1, 3, 2, 2}), {1, 2, 1}))},
    {"up_fir_dn2d_steps",
     "up_fir_dn2d",
     {"[1,3,8,8]", "0×0"},
     LACUNA_CALL(upFirDn2d(x({1, 3, 8, 8}), {1, 2, 1}, {.down = 0}))},
    {"up_fir_dn2d_filter",
     "up_fir_dn2d",
     {"[1,3,8,8]"},
     LACUNA_CALL(upFirDn2d(x({1, 3, 8, 8}), {}))},
    {"lstm",
     "lstm",
     {"[2,3,4]", "[8,5]"},
     LACUNA_CALL(lstm(x({2, 3, 4}), {x({8, 5}), x({8, 2}), {}, {}}).output)},
    {"gru_state",
     "gru",
     {"[3,2]"},
     LACUNA_CALL(gru(x({2, 3, 4}), {x({6, 4}), x({6, 2}), {}, {}}, x({3, 2})).output)},
};

class ShapesThatDoNotFit : public testing::TestWithParam<Misuse> {};

TEST_P(ShapesThatDoNotFit, AreRefusedWithTheOperatorAndTheShapesOnEveryDevice) {
  const Misuse& misuse = GetParam();
  const std::string onCpu = test::messageOf([&] { misuse.call({kCpu}); });
  EXPECT_THAT(onCpu, StartsWith(std::string(misuse.op) + ": "));
  for (const char* shape : misuse.shapes) EXPECT_THAT(onCpu, HasSubstr(shape));
  EXPECT_EQ(test::messageOf([&] { misuse.call({kMeta}); }), onCpu);
}
INSTANTIATE_TEST_SUITE_P(Operators, ShapesThatDoNotFit, testing::ValuesIn(kMisuses),
                         [](const auto& info) { return std::string(info.param.what); });

/// Values are checked when the operator runs.
TEST(IndicesOutOfRange, AreRefusedWithTheOperatorAndTheShape) {
  const Tensor x = zeros({2, 3});
  const Tensor index = fromVector<std::int64_t>({0, 7}, {1, 2});
  const auto failing = [](const auto& use) {
    return test::messageOf([&] {
      const auto made = use();
      synchronize();
    });
  };
  EXPECT_EQ(failing([&] { return gather(x, 1, index); }),
            "gather: index 7 is outside dimension 1 of [2,3]");
  EXPECT_EQ(failing([&] {
              return scatter(x, -1, index, zeros({1, 2}));
            }),
            "scatter: index 7 is outside dimension 1 of [2,3]");
  EXPECT_EQ(failing([&] {
              return scatterAdd(x, 0, index, zeros({1, 2}));
            }),
            "scatter_add: index 7 is outside dimension 0 of [2,3]");
  EXPECT_EQ(failing([&] { return indexSelect(x, 1, index.select(0, 0)); }),
            "index_select: index 7 is outside dimension 1 of [2,3]");
  EXPECT_EQ(failing([&] { return embedding(x, index); }),
            "embedding: index 7 is outside dimension 0 of [2,3]");
}

}  // namespace
}  // namespace lacuna::rt
