// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mcp/inbox.h"

namespace lacuna::cli::mcp {

struct ChildBounds {
  std::chrono::milliseconds time{0};  ///< 0: none
  std::size_t bytes = 0;              ///< kept of each stream; the rest is only counted
};

/// The beginning of what a stream brought.
struct StreamHead {
  std::string text;
  std::uint64_t bytes = 0;  ///< of all that came
};

struct ChildResult {
  enum class End : std::uint8_t {
    Exited,   ///< `code` is its exit code
    Crashed,  ///< `code` is the signal
    TookTooLong,
    Cancelled,   ///< by the client, or because it reads no more answers
    NotStarted,  ///< `code` is the error of the system
  };
  End end = End::NotStarted;
  int code = 0;
  StreamHead out, err;
};

/// Runs this program with other words and without input, and waits for its end. Meanwhile the inbox
/// takes in messages. A signal that ends this process ends the child, too. One child at a time.
ChildResult runSelf(const std::vector<std::string>& words, const ChildBounds& bounds, Inbox& inbox);

}  // namespace lacuna::cli::mcp
