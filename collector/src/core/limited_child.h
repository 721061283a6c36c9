// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace lacuna::collector {

struct ChildLimits {
  std::chrono::milliseconds silent{30'000};  ///< without a further word of the child
  std::chrono::milliseconds total{120'000};
};

enum class ChildEnd : std::uint8_t {
  Over,  ///< it ended by itself, or crashed
  TookTooLong,
  Stopped,    ///< by `stop`
  Senseless,  ///< `take` made no sense of it
  NoChild,    ///< the system has no room for one
};

/// Does work that bytes from outside may keep busy for ever, crash or bloat. A forked child does
/// it, starts no program, and is killed at its limits. `work` writes to the file that it is given.
/// `take` gets the bytes so far whenever more arrive, removes what it has used, and answers false
/// where they make no sense. `stop` is asked often.
ChildEnd runLimited(const ChildLimits& limits, const std::function<bool()>& stop,
                    const std::function<void(int out)>& work,
                    const std::function<bool(std::string& bytes)>& take);

/// For `work`: all bytes, or the child ends.
void writeAll(int out, const void* bytes, std::size_t size);
/// For `work`: from here on the child may take so much memory more. Sanitizers take more of the
/// address space than any limit, so there is none with them.
void limitMemory(std::uint64_t more);

}  // namespace lacuna::collector
