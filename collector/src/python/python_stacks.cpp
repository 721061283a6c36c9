// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/python_stacks.h"

#include "python/module_name.h"

namespace lacuna::collector::python {
namespace {

/// A program that makes functions or stacks without end must not fill our memory.
constexpr std::size_t kMostTextBytes = std::size_t{32} << 20;
constexpr std::size_t kMostPlaces = 1 << 20;

}  // namespace

std::uint32_t PythonStacks::numberOf(const std::string& function, const std::string& file) {
  // From 3.12 on the interpreter itself has a frame beneath a class's __init__.
  if (file == "__init__" && function == "__init__") return 0;
  const auto known = numbers_.find({function, file});
  if (known != numbers_.end()) return known->second;
  if (textBytes_ > kMostTextBytes && !function.empty()) return numberOf("", "");
  textBytes_ += 2 * (function.size() + file.size());
  const auto number = static_cast<std::uint32_t>(functions_.size());
  functions_.push_back({function, file, moduleOf(file)});
  numbers_.emplace(std::pair(function, file), number);
  return number;
}

prof::FrameId PythonStacks::add(const std::vector<Frame>& frames, prof::Drainer::Access& access) {
  prof::FrameId parent;
  for (std::size_t i = frames.size(); i-- > 0;) {
    const Frame& frame = frames[i];
    if (frame.function == 0 || frame.function >= functions_.size()) continue;
    const Key key{parent.value, frame.function, frame.line};
    const auto known = ids_.find(key);
    if (known == ids_.end() && ids_.size() >= kMostPlaces) return parent;
    if (known != ids_.end()) {
      parent = known->second;
      continue;
    }
    const prof::FrameId id = access.newFrame();
    const Function& function = functions_[frame.function];
    prof::Writer& writer = access.writer();
    writer.append(prof::StackFrame{.id = id,
                                   .parent = parent,
                                   .function = writer.intern(function.name),
                                   .module = writer.intern(function.module),
                                   .file = writer.intern(function.file),
                                   .line = frame.line});
    access.countRows(1);
    ids_.emplace(key, id);
    parent = id;
  }
  return parent;
}

}  // namespace lacuna::collector::python
