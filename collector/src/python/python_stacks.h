// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lacuna/prof/recording.h"
#include "python/frame_reader.h"

namespace lacuna::collector::python {

/// The functions and call stacks of all interpreters as one tree. A frame is in the trace as soon
/// as it has a number: its names are known then.
class PythonStacks {
 public:
  /// The number of a function; 0 for none that a program has.
  std::uint32_t numberOf(const std::string& function, const std::string& file);
  /// The innermost of the frames, which are given from the inside out. Beyond the most stacks, only
  /// the outer part is kept.
  prof::FrameId add(const std::vector<Frame>& frames, prof::Drainer::Access& access);

 private:
  struct Function {
    std::string name, file, module;
  };
  struct Key {
    std::uint32_t parent = 0, function = 0, line = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return ((static_cast<std::uint64_t>(key.parent) << 32 | key.function) * 0x9e3779b97f4a7c15u) ^
             key.line;
    }
  };
  std::map<std::pair<std::string, std::string>, std::uint32_t> numbers_;
  std::vector<Function> functions_{Function()};
  std::size_t textBytes_ = 0;
  std::unordered_map<Key, prof::FrameId, Hash> ids_;
};

}  // namespace lacuna::collector::python
