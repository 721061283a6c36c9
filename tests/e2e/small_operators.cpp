// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// Small operators of the runtime, all of which run on the calling thread because the queue is idle.
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/ops.h"

int main() {
  namespace rt = lacuna::rt;
  const rt::Tensor a = rt::ones({4}).setRequiresGrad();
  const rt::Tensor b = rt::ones({4});
  rt::synchronize();
  for (std::uint64_t index = 0; index < 3; ++index) {
    const rt::StepScope step(index, 4);
    rt::Tensor c = b;
    for (int i = 0; i < 100; ++i) c = rt::add(rt::mul(c, a), b);
    const rt::PhaseScope phase(rt::Phase::Optimizer);
    for (int i = 0; i < 100; ++i) c = rt::sub(b, b);
  }
}
