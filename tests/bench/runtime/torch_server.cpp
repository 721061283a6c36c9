// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// The workloads of bench_runtime on libtorch.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/ones.h>

#include "torch_models.h"
#include "workloads.h"

namespace {

at::Tensor one(bool grad) {
  return at::ones({1}).set_requires_grad(grad);
}

bench::Workload adds(bool grad) {
  return [a = one(grad), b = one(grad)](int count) {
    at::Tensor c;
    for (int i = 0; i < count; ++i) c = at::add(a, b);
  };
}

bench::Workload chain() {
  return [w = one(true)](int count) {
    for (int done = 0; done < count; done += 1000) {
      at::Tensor y = w;
      for (int i = 0; i < 1000; ++i) y = at::add(y, w);
      y.backward();
      w.mutable_grad() = at::Tensor();
    }
  };
}

bench::Workload steps(const std::string& network) {
  return [step = bench::makeTorchStep(network)](int count) {
    for (int i = 0; i < count; ++i) step();
  };
}

double peakOf(const std::string& network) {
  bench::countTorchMemory();
  const auto step = bench::makeTorchStep(network);
  for (int i = 0; i < 2; ++i) step();
  return bench::torchPeakBytes();
}

}  // namespace

int main() {
  bench::Workloads workloads{{"dispatch_plain", [] { return adds(false); }},
                             {"dispatch_grad", [] { return adds(true); }},
                             {"dispatch_fwdbwd", [] { return chain(); }}};
  bench::Values values;
  for (const std::string network : {"mlp", "resnet18", "transformer"}) {
    workloads["step_" + network] = [=] { return steps(network); };
    values["peak_" + network] = [=] { return peakOf(network); };
  }
  return bench::serve(workloads, values);
}
