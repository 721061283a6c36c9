// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lacuna::prof {

/// The work of one operator of a generated run.
struct ProgramOp {
  std::vector<std::string_view> ranges;  ///< nested operators, outermost first
  std::string text{};                    ///< shapes, on the outermost
  std::string_view kernel{};             ///< empty: nothing is launched
  double hostUs = 5;                     ///< host time of the innermost operator
  double kernelUs = 5;
  std::uint32_t gridX = 1;
  std::uint32_t gridY = 1;
  std::uint32_t blockX = 256;
  std::uint16_t registers = 32;
  std::uint32_t sharedBytes = 0;
  std::uint64_t bytes = 0;     ///< allocated for the result
  std::uint8_t role = 0;       ///< MemoryRole of that
  bool keep = false;           ///< freed when the matching backward operator ran, not at once
  bool release = false;        ///< frees the last kept block
  bool communication = false;  ///< on the communication queue
  bool queryEvent = false;     ///< the driver asks for an event before
};

/// The operators of one training step, in order.
struct TrainingProgram {
  std::vector<ProgramOp> forward;
  std::vector<ProgramOp> backward;  ///< on the autograd thread
  std::vector<ProgramOp> optimizer;
};

/// A transformer of that many layers, its sizes drawn by the seed.
TrainingProgram makeProgram(std::uint32_t layers, std::uint64_t seed);

}  // namespace lacuna::prof
