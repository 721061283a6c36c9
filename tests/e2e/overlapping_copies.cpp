// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// Steps whose next batch is copied on the second queue of the device while the first one computes:
/// overlapping_copies [on|off]; `off` copies on the first queue.
#include <string_view>

#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/queue.h"

int main(int argc, char** argv) {
  namespace rt = lacuna::rt;
  const bool beside = argc < 2 || std::string_view(argv[1]) == "on";
  const rt::Tensor weight = rt::ones({512, 512});
  const rt::Tensor loaded = rt::ones({8, 512, 512});
  rt::synchronize();
  const rt::Queue copies{rt::kCpu, beside ? 1 : 0};
  const auto copied = [&] {
    const rt::QueueScope scope(copies);
    return loaded.clone();
  };
  rt::Tensor next = copied();
  for (std::uint64_t index = 0; index < 12; ++index) {
    const rt::StepScope step(index, 8);
    const rt::Tensor batch = std::move(next);
    rt::Tensor made = rt::matmul(batch, weight);
    // The copy begins while the rest is computed, also where other programs take the cores.
    rt::Event(rt::Queue{}).block(copies);
    for (int i = 0; i < 4; ++i) made = rt::matmul(made, weight);
    next = copied();
    (void)rt::sum(made).item();
  }
}
