// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

/// The effect of the order of pictures in memory on the convolutions of a training step of
/// ResNet-18 (64 pictures of 3×32×32). It covers the forward, the gradient of the input and the
/// gradient of the weight, each as often as it occurs. The weights lie row-major in all of them and
/// are brought into the order that the library wants, as training has to.
namespace bench {

enum class PictureOrder {
  ChannelsLast,  ///< the runtime's own convolutions
  Blocked,       ///< the library's choice of orders; all pictures lie so already
  Reordered      ///< the same, with pictures row-major in between
};

class Convolutions {
 public:
  explicit Convolutions(PictureOrder order);
  /// Runs each once. Nanoseconds of a step's.
  double step();

 private:
  struct Pass {
    int times;
    std::function<void()> run;
  };
  std::vector<Pass> passes_;
};

}  // namespace bench
