// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace lacuna::collector::timer {

/// A stack of one thread, the part of it that may be read: from the stack pointer up.
struct StackBounds {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  [[nodiscard]] bool holds(std::uintptr_t at) const { return at >= low && at < high; }
};

/// Follows the chain of frame pointers of a stopped function from outside. Writes the instruction
/// and then return addresses, at most `room`, and answers how many. Reads nothing but the live part
/// of the stack, so it cannot fault, whatever the registers hold. On a stack that is not the
/// thread's own (a signal stack, a coroutine) there is the instruction alone.
inline std::size_t walkFramePointers(std::uintptr_t instruction, std::uintptr_t stackPointer,
                                     std::uintptr_t framePointer, const StackBounds& stack,
                                     std::uint64_t* frames, std::size_t room) {
  constexpr std::uintptr_t kPair = 2 * sizeof(std::uintptr_t);
  if (room == 0) return 0;
  std::size_t depth = 0;
  frames[depth++] = instruction;
  if (!stack.holds(stackPointer)) return depth;
  std::uintptr_t least = stackPointer;
  while (depth < room && framePointer >= least && framePointer % sizeof(std::uintptr_t) == 0 &&
         stack.high - kPair >= framePointer) {
    const auto* pair = reinterpret_cast<const std::uintptr_t*>(framePointer);
    const std::uintptr_t caller = pair[1];
    if (caller == 0) break;
    frames[depth++] = caller;
    least = framePointer + kPair;
    framePointer = pair[0];
  }
  return depth;
}

}  // namespace lacuna::collector::timer
