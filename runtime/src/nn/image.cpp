// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lacuna/runtime/nn_image.h"
#include "nn/init.h"

namespace lacuna::rt::nn {

namespace {

double boundOf(std::int64_t fanIn) {
  return 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, fanIn)));
}

void checkGroups(const char* op, std::int64_t in, std::int64_t out, std::int64_t groups) {
  if (groups < 1 || in % groups != 0 || out % groups != 0) {
    fail(op, std::to_string(groups) + " groups of " + std::to_string(in) + " input and " +
                 std::to_string(out) + " output channels");
  }
}

}  // namespace

Conv2d::Conv2d(std::int64_t in, std::int64_t out, Extent window, Conv2dOptions convolution,
               bool withBias, Options options)
    : convolution_(convolution) {
  checkGroups("Conv2d", in, out, convolution.groups);
  const std::int64_t perGroup = in / convolution.groups;
  const double bound = boundOf(perGroup * window.height * window.width);
  weight = addParameter(
      "weight",
      uniformParameter("weight", {out, perGroup, window.height, window.width}, bound, options));
  if (withBias) bias = addParameter("bias", uniformParameter("bias", {out}, bound, options));
}

ConvTranspose2d::ConvTranspose2d(std::int64_t in, std::int64_t out, Extent window,
                                 ConvTranspose2dOptions convolution, bool withBias, Options options)
    : convolution_(convolution) {
  checkGroups("ConvTranspose2d", in, out, convolution.groups);
  const std::int64_t perGroup = out / convolution.groups;
  const double bound = boundOf(perGroup * window.height * window.width);
  weight = addParameter(
      "weight",
      uniformParameter("weight", {in, perGroup, window.height, window.width}, bound, options));
  if (withBias) bias = addParameter("bias", uniformParameter("bias", {out}, bound, options));
}

BatchNorm::BatchNorm(std::int64_t channels, BatchNormOptions norm, Options options) : norm_(norm) {
  if (norm.affine) {
    weight = addParameter("weight", filledParameter("weight", {channels}, 1, options));
    bias = addParameter("bias", filledParameter("bias", {channels}, 0, options));
  }
  if (!norm.runningStats) return;
  runningMean = addBuffer("running_mean", filledParameter("running_mean", {channels}, 0, options));
  runningVar = addBuffer("running_var", filledParameter("running_var", {channels}, 1, options));
}

void BatchNorm::checkRank(const Tensor& x, int least, int most) const {
  if (x.rank() < least || x.rank() > most) {
    fail(kind(), "input " + x.shape().toString() + " has " + std::to_string(x.rank()) +
                     " dimensions, not " + std::to_string(least) +
                     (most != least ? " or " + std::to_string(most) : ""));
  }
}

Tensor BatchNorm::forward(const Tensor& x) {
  const bool fromBatch = training() || !norm_.runningStats;
  return batchNorm(x, weight, bias, runningMean, runningVar, fromBatch, norm_.momentum,
                   norm_.epsilon);
}

Tensor BatchNorm1d::forward(const Tensor& x) {
  checkRank(x, 2, 3);
  return BatchNorm::forward(x);
}

Tensor BatchNorm2d::forward(const Tensor& x) {
  checkRank(x, 4, 4);
  return BatchNorm::forward(x);
}

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, double epsilon, Options options)
    : groups_(groups), epsilon_(epsilon) {
  checkGroups("GroupNorm", channels, channels, groups);
  weight = addParameter("weight", filledParameter("weight", {channels}, 1, options));
  bias = addParameter("bias", filledParameter("bias", {channels}, 0, options));
}

InstanceNorm::InstanceNorm(std::int64_t channels, double epsilon, bool affine, Options options)
    : epsilon_(epsilon) {
  if (!affine) return;
  weight = addParameter("weight", filledParameter("weight", {channels}, 1, options));
  bias = addParameter("bias", filledParameter("bias", {channels}, 0, options));
}

}  // namespace lacuna::rt::nn
