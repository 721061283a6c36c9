// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

using prof::Kernel;
using prof::Memcpy;

struct Overlap {
  std::size_t copies = 0;
  std::size_t besideKernels = 0;  ///< copies during which a kernel of another queue ran
};

Overlap overlapIn(const prof::Reader& reader) {
  const auto kernels = *reader.table<Kernel>();
  const auto copies = *reader.table<Memcpy>();
  Overlap out;
  for (std::size_t c = 0; c < reader.rows<Memcpy>(); ++c) {
    const Memcpy copy = copies.row(c);
    ++out.copies;
    for (std::size_t k = 0; k < reader.rows<Kernel>(); ++k) {
      const Kernel kernel = kernels.row(k);
      if (kernel.queue == copy.queue || kernel.startNs >= copy.startNs + copy.durNs ||
          kernel.startNs + kernel.durNs <= copy.startNs)
        continue;
      ++out.besideKernels;
      break;
    }
  }
  return out;
}

TEST_F(RunTest, CopiesOfAQueueOfTheirOwnOverlapTheComputationOfTheDevice) {
  ASSERT_EQ(WEXITSTATUS(record(program("overlapping_copies"))), 0) << errorText();
  const prof::Reader reader = trace();
  const auto queues = *reader.table<prof::Queue>();
  ASSERT_EQ(reader.rows<prof::Queue>(), 2u);
  EXPECT_EQ(queues.device[0], queues.device[1]) << "two queues of one device";
  EXPECT_EQ(reader.rows<prof::Device>(), 1u);
  const Overlap overlap = overlapIn(reader);
  EXPECT_GE(overlap.copies, 13u);
  EXPECT_GE(overlap.besideKernels, 6u) << "of " << overlap.copies;
}

TEST_F(RunTest, CopiesOfTheSameQueueOverlapNothing) {
  ASSERT_EQ(WEXITSTATUS(record(program("overlapping_copies") + " off")), 0) << errorText();
  const Overlap overlap = overlapIn(trace());
  EXPECT_GE(overlap.copies, 13u);
  EXPECT_EQ(overlap.besideKernels, 0u);
}

}  // namespace
}  // namespace lacuna
