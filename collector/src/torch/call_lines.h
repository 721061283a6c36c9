// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

/// The lines of Python that call operators. PyTorch gives Python's lock up before it runs one, so
/// the interpreter cannot be asked. But the frames of a thread do not change while it is in an
/// operator. They are read where they are, and the lock is taken only for a place that is new.
namespace lacuna::collector::torch {

/// Where this interpreter keeps frames, in bytes; collector/python/lacuna_frames.py has measured
/// and checked it.
struct FramePlaces {
  std::uint32_t frame;        ///< in a thread's state, or in what `viaFrame` leads to
  std::int32_t viaFrame;      ///< in a thread's state; -1: there is nothing between
  std::uint32_t back, code;   ///< in a frame
  std::uint32_t instruction;  ///< in a frame: an address, or a number of 4 bytes
  std::uint32_t numberScale;  ///< of that number to bytes; 0: an address
  std::int32_t owner;         ///< in a frame; -1: all frames are of Python code
  std::uint32_t bytecode;     ///< in a code object
};

/// Folders whose lines are of no interest, with a slash at the end.
struct SkippedFolders {
  std::string pytorch, library;  ///< `library`: Python's own
};

/// From now on lines are known. False where Python cannot be reached.
bool findCallLines(const FramePlaces& places, SkippedFolders skipped);
/// "train.py:57": the innermost line of this thread that is in no skipped file. Null without one.
const char* callLine();

}  // namespace lacuna::collector::torch
