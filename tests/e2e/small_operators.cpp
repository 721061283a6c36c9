// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// Small operators of the runtime. All run on the calling thread because the queue is idle:
/// small_operators [STEPS [EXIT CODE]].
#include <cstdlib>

#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/ops.h"

int main(int argc, char** argv) {
  namespace rt = lacuna::rt;
  rt::knob("operators", "small");
  const rt::Tensor a = rt::ones({4}).setRequiresGrad();
  const rt::Tensor b = rt::ones({4});
  rt::synchronize();
  const std::uint64_t steps = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 3;
  for (std::uint64_t index = 0; index < steps; ++index) {
    const rt::StepScope step(index, 4);
    rt::Tensor c = b;
    for (int i = 0; i < 100; ++i) c = rt::add(rt::mul(c, a), b);
    const rt::PhaseScope phase(rt::Phase::Optimizer);
    for (int i = 0; i < 100; ++i) c = rt::sub(b, b);
  }
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
