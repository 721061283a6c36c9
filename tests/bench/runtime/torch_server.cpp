// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// The workloads of bench_runtime on libtorch.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/ones.h>

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

}  // namespace

int main() {
  return bench::serve({{"dispatch_plain", [] { return adds(false); }},
                       {"dispatch_grad", [] { return adds(true); }},
                       {"dispatch_fwdbwd", [] { return chain(); }}});
}
