// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/prof/announced.h"
#include "lacuna/prof/prof.h"

namespace lacuna::prof {

/// An operator that ran on the calling thread, reported when it is over: its range, in that an
/// allocation, then the range of its execution. `name` and `executionName` are sites of one domain.
/// Stamps are lacunaStamp_()'s; one that is 0 has not happened yet, and the ranges that have begun
/// stay open.
struct AnnouncedOperator {
  std::uint64_t beginStamp = 0;
  std::uint64_t startStamp = 0;
  std::uint64_t stopStamp = 0;
  std::uint64_t endStamp = 0;
  LacunaName domain = 0;
  LacunaName name = 0;
  LacunaName executionName = 0;
  LacunaName shapes = 0;
  std::uint64_t correlation = 0;
  std::uint64_t sequence = 0;    ///< of the operator, among those that are differentiated
  AnnouncedExecution execution;  ///< of the same correlation
  AnnouncedMemory memory;
  bool hasMemory = false;
};

/// The clock of what this thread records; never 0.
extern "C" LACUNA_PROF_API std::uint64_t lacunaStamp_();
/// Records the same as the pushes, the memory and the pops would have at those times; in one record
/// where it fits. Nothing else may have been recorded by this thread since the first stamp.
extern "C" LACUNA_PROF_API void lacunaAnnouncedOperator_(const AnnouncedOperator* announced);

}  // namespace lacuna::prof
