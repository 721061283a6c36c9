// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// The workloads of bench_runtime on the runtime itself.
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"
#include "workloads.h"

namespace {

namespace rt = lacuna::rt;

rt::Tensor one(bool grad) {
  return rt::ones({1}).setRequiresGrad(grad);
}

bench::Workload adds(bool grad) {
  return [a = one(grad), b = one(grad)](int count) {
    rt::Tensor c;
    for (int i = 0; i < count; ++i) c = rt::add(a, b);
    rt::synchronize();
  };
}

bench::Workload chain() {
  return [w = one(true)](int count) {
    for (int done = 0; done < count; done += 1000) {
      rt::Tensor y = w;
      for (int i = 0; i < 1000; ++i) y = rt::add(y, w);
      y.backward();
      w.setGrad({});
    }
    rt::synchronize();
  };
}

}  // namespace

int main() {
  return bench::serve({{"dispatch_plain", [] { return adds(false); }},
                       {"dispatch_grad", [] { return adds(true); }},
                       {"dispatch_fwdbwd", [] { return chain(); }}});
}
