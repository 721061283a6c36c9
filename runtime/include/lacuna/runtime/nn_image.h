// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/ops_image.h"

/// Modules for pictures [n, channels, height, width].
namespace lacuna::rt::nn {

class Conv2d : public Module {
 public:
  Conv2d(std::int64_t in, std::int64_t out, Extent window, Conv2dOptions convolution = {},
         bool bias = true, Options options = {});
  [[nodiscard]] const char* kind() const override { return "Conv2d"; }
  Tensor weight, bias;

 protected:
  Tensor forward(const Tensor& x) override { return conv2d(x, weight, bias, convolution_); }

 private:
  Conv2dOptions convolution_;
};

class ConvTranspose2d : public Module {
 public:
  ConvTranspose2d(std::int64_t in, std::int64_t out, Extent window,
                  ConvTranspose2dOptions convolution = {}, bool bias = true, Options options = {});
  [[nodiscard]] const char* kind() const override { return "ConvTranspose2d"; }
  Tensor weight, bias;

 protected:
  Tensor forward(const Tensor& x) override {
    return convTranspose2d(x, weight, bias, convolution_);
  }

 private:
  ConvTranspose2dOptions convolution_;
};

struct BatchNormOptions {
  double momentum = 0.1;
  double epsilon = 1e-5;
  bool affine = true;        ///< weight and bias
  bool runningStats = true;  ///< without them, eval uses the batch's statistics too
};

/// Over all dimensions but the second; buffers running_mean and running_var.
class BatchNorm : public Module {
 public:
  explicit BatchNorm(std::int64_t channels, BatchNormOptions norm = {}, Options options = {});
  Tensor weight, bias, runningMean, runningVar;

 protected:
  Tensor forward(const Tensor& x) override;
  /// Throws unless x has one of these ranks.
  void checkRank(const Tensor& x, int least, int most) const;

 private:
  BatchNormOptions norm_;
};

/// [n, channels] or [n, channels, length]
class BatchNorm1d : public BatchNorm {
 public:
  using BatchNorm::BatchNorm;
  [[nodiscard]] const char* kind() const override { return "BatchNorm1d"; }

 protected:
  Tensor forward(const Tensor& x) override;
};

class BatchNorm2d : public BatchNorm {
 public:
  using BatchNorm::BatchNorm;
  [[nodiscard]] const char* kind() const override { return "BatchNorm2d"; }

 protected:
  Tensor forward(const Tensor& x) override;
};

class GroupNorm : public Module {
 public:
  GroupNorm(std::int64_t groups, std::int64_t channels, double epsilon = 1e-5,
            Options options = {});
  [[nodiscard]] const char* kind() const override { return "GroupNorm"; }
  Tensor weight, bias;

 protected:
  Tensor forward(const Tensor& x) override { return groupNorm(x, groups_, weight, bias, epsilon_); }

 private:
  std::int64_t groups_;
  double epsilon_;
};

class InstanceNorm : public Module {
 public:
  explicit InstanceNorm(std::int64_t channels, double epsilon = 1e-5, bool affine = false,
                        Options options = {});
  [[nodiscard]] const char* kind() const override { return "InstanceNorm"; }
  Tensor weight, bias;

 protected:
  Tensor forward(const Tensor& x) override { return instanceNorm(x, weight, bias, epsilon_); }

 private:
  double epsilon_;
};

class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(Pool2dOptions pool) : pool_(pool) {}
  [[nodiscard]] const char* kind() const override { return "MaxPool2d"; }

 protected:
  Tensor forward(const Tensor& x) override { return maxPool2d(x, pool_); }

 private:
  Pool2dOptions pool_;
};

class AvgPool2d : public Module {
 public:
  explicit AvgPool2d(Pool2dOptions pool) : pool_(pool) {}
  [[nodiscard]] const char* kind() const override { return "AvgPool2d"; }

 protected:
  Tensor forward(const Tensor& x) override { return avgPool2d(x, pool_); }

 private:
  Pool2dOptions pool_;
};

class AdaptiveAvgPool2d : public Module {
 public:
  explicit AdaptiveAvgPool2d(Extent size = 1) : size_(size) {}
  [[nodiscard]] const char* kind() const override { return "AdaptiveAvgPool2d"; }

 protected:
  Tensor forward(const Tensor& x) override { return adaptiveAvgPool2d(x, size_); }

 private:
  Extent size_;
};

class Flatten : public Module {
 public:
  [[nodiscard]] const char* kind() const override { return "Flatten"; }

 protected:
  Tensor forward(const Tensor& x) override { return x.flatten(1); }
};

}  // namespace lacuna::rt::nn
