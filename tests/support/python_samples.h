// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "lacuna/analyzer/store.h"

namespace lacuna::test {

/// Samples of Python code, in a store that is being made.
class PythonSamples {
 public:
  explicit PythonSamples(analyzer::StoreBuilder& out) : out_(out) {}

  /// A frame that `caller` called.
  prof::FrameId frame(std::string_view function, std::string_view file, std::uint32_t line,
                      prof::FrameId caller = {}, std::string_view module = "train") {
    const prof::FrameId id(++frames_);
    out_.append(prof::StackFrame{.id = id,
                                 .parent = caller,
                                 .function = out_.intern(function),
                                 .module = out_.intern(module),
                                 .file = out_.intern(file),
                                 .line = line});
    return id;
  }
  void sample(prof::TimeNs at, prof::FrameId stack, std::uint64_t weightNs,
              std::uint32_t thread = 1) {
    out_.append(prof::PythonSample{.timeNs = at,
                                   .thread = prof::ThreadId(thread),
                                   .stack = stack,
                                   .weightNs = weightNs,
                                   .state = state});
  }
  prof::ThreadState state = prof::ThreadState::Unknown;  ///< of the samples that follow
  /// One for each `everyNs`, at the end of the time that it stands for.
  void during(prof::TimeNs from, prof::TimeNs to, prof::FrameId stack, prof::TimeNs everyNs,
              std::uint32_t thread = 1) {
    for (prof::TimeNs at = from + everyNs; at <= to; at += everyNs)
      sample(at - 1, stack, static_cast<std::uint64_t>(everyNs), thread);
  }

 private:
  analyzer::StoreBuilder& out_;
  std::uint32_t frames_ = 0;
};

}  // namespace lacuna::test
