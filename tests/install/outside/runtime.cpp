// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// Trains a small network to find in which of four quadrants a point lies, and prints how many of
/// 256 others it gets right.
#include <cstdio>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/data.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/random.h"

namespace rt = lacuna::rt;

static rt::Tensor quadrantsOf(const rt::Tensor& points) {
  const rt::Tensor right = rt::greater(points.select(1, 0), rt::scalar(0));
  const rt::Tensor up = rt::greater(points.select(1, 1), rt::scalar(0));
  return right.to(rt::DType::I64) + up.to(rt::DType::I64) * 2.0;
}

int main() {
  rt::manualSeed(1);
  rt::nn::Sequential net;
  net.add<rt::nn::Linear>(2, 32).add<rt::nn::Relu>().add<rt::nn::Linear>(32, 4);
  net.nameTree("net");
  rt::optim::Adam adam(net.parameters(), {.rate = 0.01});
  const rt::Tensor points = rt::randn({1024, 2});
  rt::LoaderOptions options;
  options.batch = 64;
  options.shuffle = true;
  options.workers = 1;
  rt::DataLoader loader(std::make_shared<rt::TensorDataset>(rt::Batch{points, quadrantsOf(points)}),
                        options);
  std::uint64_t step = 0;
  for (int epoch = 0; epoch < 10; ++epoch) {
    for (rt::Batch& batch : loader) {
      const rt::StepScope scope(step++, options.batch);
      const rt::Tensor loss = rt::crossEntropy(net(batch[0]), batch[1]);
      loss.backward();
      adam.step();
      adam.zeroGrad();
    }
  }
  const rt::NoGrad guard;
  const rt::Tensor others = rt::randn({256, 2});
  const double right = rt::sum(rt::equal(rt::argmax(net(others), 1), quadrantsOf(others))).item();
  std::printf("%.0f of 256 points are in the right quadrant\n", right);
  return right > 230 ? 0 : 1;
}
