// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lacuna/runtime/memory.h"

/// The memory that a program's operators need: the list of operators with their buffers, and what a
/// planner that knows the whole list in advance would get along with.
namespace lacuna::rt {

/// A piece of memory that an operator asked for while operators were recorded. Positions count
/// operators, from 1.
struct RecordedBuffer {
  std::size_t bytes = 0;
  Role role = Role::Other;
  const char* op = "";        ///< that asked for it
  std::uint64_t born = 0;     ///< position of that operator; 0: before the first
  std::uint64_t lastUse = 0;  ///< position of the last operator that reads or writes it
  std::uint64_t freed =
      0;  ///< position of the operator during or after which it was given back; 0: still held
  bool forward = false;  ///< made by the forward, for the result of an operator
  bool takenOver =
      false;  ///< the result of an operator that works in its input's memory: takes none of its own
  bool existedBefore = false;  ///< held when the recording began (and freed since)
};

struct OperatorList {
  std::vector<const char*> operators;   ///< names; position p is operators[p - 1]
  std::vector<RecordedBuffer> buffers;  ///< in order of birth
  std::uint64_t backwardEnd = 0;        ///< position of the last operator of a backward
  std::size_t heldBefore = 0;           ///< bytes held when the recording began
  std::size_t peak = 0;  ///< most that the recorded program held at once, as the allocator counts
};

/// Runs `body`, one or more whole steps of training, and lists what its operators do on `device`.
/// One recording at a time; operators of other threads are recorded with it.
[[nodiscard]] OperatorList recordOperators(const std::function<void()>& body, Device device = kCpu);

/// The most bytes held at once when every buffer lives from the operator that makes it to the last
/// one that uses it: what a static plan of the list needs. Buffers held before count all the time,
/// as parameters do.
[[nodiscard]] std::size_t lastUseBound(const OperatorList& list);
/// The same for a framework that keeps every result of the forward until the backward has ended and
/// reuses no input's memory.
[[nodiscard]] std::size_t keepAllBound(const OperatorList& list);

}  // namespace lacuna::rt
