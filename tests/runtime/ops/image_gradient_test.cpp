// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/ops_image.h"
#include "runtime/ops/gradient_case.h"

namespace lacuna::rt {
namespace {

class ImageGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(ImageGradient, EqualsTheFiniteDifference) {
  EXPECT_EQ(checkCase(GetParam()), "");
}

const GradientCase kImageCases[] = {
    {"conv",
     {{2, 2, 4, 3}, {3, 2, 3, 2}, {3}},
     [](const Inputs& in) { return conv2d(in[0], in[1], in[2]); }},
    {"conv_strided",
     {{1, 2, 5, 4}, {2, 2, 2, 3}},
     [](const Inputs& in) {
       return conv2d(in[0], in[1], {}, {.stride = {2, 1}, .padding = {1, 2}});
     }},
    {"conv_dilated",
     {{1, 2, 5, 5}, {2, 2, 2, 2}, {2}},
     [](const Inputs& in) {
       return conv2d(in[0], in[1], in[2], {.padding = 1, .dilation = {2, 3}});
     }},
    {"conv_groups",
     {{2, 4, 3, 3}, {6, 2, 2, 2}, {6}},
     [](const Inputs& in) { return square(conv2d(in[0], in[1], in[2], {.groups = 2})); }},
    {"conv_depthwise",
     {{1, 3, 4, 4}, {3, 1, 3, 3}},
     [](const Inputs& in) { return conv2d(in[0], in[1], {}, {.padding = 1, .groups = 3}); }},
    {"conv_of_strided_view",
     {{2, 4, 3, 2}, {2, 3, 2, 2}},
     [](const Inputs& in) { return conv2d(in[0].transpose(1, 2), in[1]); }},
    {"conv_empty_batch",
     {{0, 2, 3, 3}, {2, 2, 2, 2}, {2}},
     [](const Inputs& in) { return sum(conv2d(in[0], in[1], in[2])) + sum(in[1]); }},
    {"conv_one_pixel",
     {{1, 1, 1, 1}, {1, 1, 1, 1}, {1}},
     [](const Inputs& in) { return conv2d(in[0], in[1], in[2]); }},
    {"conv_transpose",
     {{2, 2, 3, 2}, {2, 3, 2, 3}, {3}},
     [](const Inputs& in) { return convTranspose2d(in[0], in[1], in[2]); }},
    {"conv_transpose_strided",
     {{1, 4, 3, 3}, {4, 1, 3, 3}, {2}},
     [](const Inputs& in) {
       return convTranspose2d(in[0], in[1], in[2],
                              {.stride = 2, .padding = 1, .outputPadding = 1, .groups = 2});
     }},
    {"max_pool",
     {{2, 3, 5, 4}},
     [](const Inputs& in) { return square(maxPool2d(in[0], {.window = 2})); }},
    {"max_pool_overlapping",
     {{1, 2, 5, 5}},
     [](const Inputs& in) {
       return square(maxPool2d(in[0], {.window = 3, .stride = 2, .padding = 1}));
     }},
    {"max_pool_ceil",
     {{1, 2, 6, 4}},
     [](const Inputs& in) {
       return square(maxPool2d(in[0], {.window = 3, .stride = 2, .ceilMode = true}));
     }},
    {"avg_pool_ceil",
     {{1, 2, 6, 5}},
     [](const Inputs& in) {
       return square(
           avgPool2d(in[0], {.window = 3, .stride = 2, .padding = {0, 1}, .ceilMode = true}));
     }},
    {"avg_pool",
     {{2, 2, 4, 5}},
     [](const Inputs& in) {
       return square(avgPool2d(in[0], {.window = {2, 3}}));
     }},
    {"avg_pool_padded",
     {{1, 2, 4, 4}},
     [](const Inputs& in) {
       return square(avgPool2d(in[0], {.window = 3, .stride = 2, .padding = 1}));
     }},
    {"avg_pool_without_padding",
     {{1, 2, 4, 4}},
     [](const Inputs& in) {
       return square(
           avgPool2d(in[0], {.window = 3, .stride = 2, .padding = 1, .countPadding = false}));
     }},
    {"adaptive_avg_pool",
     {{2, 2, 5, 4}},
     [](const Inputs& in) {
       return square(adaptiveAvgPool2d(in[0], {3, 2}));
     }},
    {"global_avg_pool",
     {{2, 3, 3, 2}},
     [](const Inputs& in) { return square(adaptiveAvgPool2d(in[0])); }},
    {"batch_norm_picture",
     {{2, 3, 2, 2}, {3}, {3}},
     [](const Inputs& in) { return square(batchNorm(in[0], in[1], in[2], {}, {}, true)); }},
    {"batch_norm_channels_last",
     {{2, 2, 3, 3}, {3, 2, 1, 1}, {3}, {3}},
     [](const Inputs& in) {
       return square(batchNorm(conv2d(in[0], in[1]), in[2], in[3], {}, {}, true));
     }},
    {"batch_norm_rows",
     {{5, 3}},
     [](const Inputs& in) { return square(batchNorm(in[0], {}, {}, {}, {}, true)); }},
    {"batch_norm_only_bias",
     {{3, 2, 2}, {2}},
     [](const Inputs& in) { return square(batchNorm(in[0], {}, in[1], {}, {}, true)); }},
    {"batch_norm_eval",
     {{3, 2, 2}, {2}, {2}},
     [](const Inputs& in) {
       const Tensor mean = fromVector<double>({0.3, -0.2}, {2});
       const Tensor var = fromVector<double>({1.5, 0.4}, {2});
       return square(batchNorm(in[0], in[1], in[2], mean, var, false));
     }},
    {"interpolate_nearest",
     {{2, 2, 3, 2}},
     [](const Inputs& in) {
       return square(interpolate(in[0], {5, 4}));
     }},
    {"interpolate_bilinear",
     {{1, 2, 3, 4}},
     [](const Inputs& in) {
       return square(interpolate(in[0], {5, 2}, Interpolation::Bilinear));
     }},
    {"interpolate_corners",
     {{1, 2, 3, 3}},
     [](const Inputs& in) {
       return square(interpolate(in[0], {5, 4}, Interpolation::Bilinear, true));
     }},
    {"blur",
     {{1, 2, 4, 4}},
     [](const Inputs& in) {
       return square(blur2d(in[0], {1, 3, 3, 1}));
     }},
    {"blur_up",
     {{1, 2, 3, 3}},
     [](const Inputs& in) {
       return square(upFirDn2d(in[0], {1, 2, 3}, {.up = 2, .before = 2, .after = 1}));
     }},
    {"blur_down",
     {{2, 1, 6, 5}},
     [](const Inputs& in) {
       return square(
           upFirDn2d(in[0], {1, 2, 3, 4}, {.down = {2, 3}, .before = {1, 2}, .after = 2}));
     }},
    {"blur_cropped",
     {{1, 1, 5, 5}},
     [](const Inputs& in) {
       return square(
           upFirDn2d(in[0], {1, 2}, {.up = {2, 3}, .down = 2, .before = -1, .after = {-2, 3}}));
     }},
    {"leaky_relu_gain",
     {{1, 2, 3, 3}, {2, 2, 1, 1}},
     [](const Inputs& in) { return square(leakyRelu(conv2d(in[0], in[1]), 0.2, 1.5)); }},
    {"leaky_relu_negative_slope",
     {{7}},
     [](const Inputs& in) { return square(leakyRelu(in[0] * 1.0, -0.5)); }},
    {"leaky_relu_strided",
     {{3, 4}},
     [](const Inputs& in) { return square(leakyRelu(in[0].slice(1, 0, 4, 2))); }},
    {"group_norm_picture",
     {{2, 4, 2, 2}, {4}, {4}},
     [](const Inputs& in) { return square(groupNorm(in[0], 2, in[1], in[2])); }},
    {"group_norm_of_conv",
     {{2, 2, 3, 2}, {4, 2, 1, 1}, {4}, {4}},
     [](const Inputs& in) { return square(groupNorm(conv2d(in[0], in[1]), 2, in[2], in[3])); }},
    {"instance_norm_of_conv",
     {{2, 2, 3, 3}, {3, 2, 1, 1}, {3}, {3}},
     [](const Inputs& in) { return square(instanceNorm(conv2d(in[0], in[1]), in[2], in[3])); }},
    {"layer_norm_two_dimensions",
     {{2, 3, 3}, {3, 3}},
     [](const Inputs& in) {
       return square(layerNorm(in[0], {3, 3}, in[1], {}));
     }},
    {"layer_norm_strided",
     {{4, 3}, {4}, {4}},
     [](const Inputs& in) { return square(layerNorm(in[0].t(), {4}, in[1], in[2])); }},
    {"relu_of_conv",
     {{1, 2, 3, 3}, {2, 2, 2, 2}},
     [](const Inputs& in) { return relu(conv2d(in[0], in[1])); }},
    {"residual",
     {{1, 2, 3, 3}, {2, 2, 1, 1}, {1, 2, 1, 1}},
     [](const Inputs& in) { return square(conv2d(in[0], in[1]) + in[0]) * in[2]; }},
};

INSTANTIATE_TEST_SUITE_P(Operators, ImageGradient, testing::ValuesIn(kImageCases), caseName);

}  // namespace
}  // namespace lacuna::rt
