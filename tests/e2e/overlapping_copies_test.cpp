// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <unordered_map>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

using prof::Kernel;
using prof::Memcpy;

struct Overlap {
  std::size_t copies = 0;
  std::size_t ahead =
      0;  ///< copies that began before a kernel was done that the program had launched before
};

Overlap overlapIn(const prof::Reader& reader) {
  std::unordered_map<std::uint64_t, prof::TimeNs> launchedNs;
  const auto calls = *reader.table<prof::ApiCall>();
  for (std::size_t i = 0; i < reader.rows<prof::ApiCall>(); ++i)
    launchedNs[calls.correlation[i]] = calls.startNs[i];
  const auto kernels = *reader.table<Kernel>();
  const auto copies = *reader.table<Memcpy>();
  Overlap out;
  for (std::size_t c = 0; c < reader.rows<Memcpy>(); ++c) {
    const Memcpy copy = copies.row(c);
    ++out.copies;
    for (std::size_t k = 0; k < reader.rows<Kernel>(); ++k) {
      const Kernel kernel = kernels.row(k);
      if (launchedNs.at(kernel.correlation) > launchedNs.at(copy.correlation) ||
          kernel.startNs + kernel.durNs <= copy.startNs)
        continue;
      ++out.ahead;
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
  EXPECT_GE(overlap.ahead, 6u) << "of " << overlap.copies;
}

TEST_F(RunTest, CopiesOfTheSameQueueOverlapNothing) {
  ASSERT_EQ(WEXITSTATUS(record(program("overlapping_copies") + " off")), 0) << errorText();
  const Overlap overlap = overlapIn(trace());
  EXPECT_GE(overlap.copies, 13u);
  EXPECT_EQ(overlap.ahead, 0u);
}

}  // namespace
}  // namespace lacuna
