// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// True when a file of Python code is of an installed package, of Python's own library, or none at
/// all: not the user's.
bool isPythonLibrary(std::string_view file);

/// A line of the user's code, and what it calls.
struct PythonPlace {
  prof::StringId function, file;
  std::uint32_t line = 0;
  std::string
      inside{};  ///< the innermost library function that it calls: "numpy sort"; empty: none
  /// The innermost frame is of PyTorch's own Python code, or of our hook in it: the line calls the
  /// framework.
  bool isFrameworks = false;
  /// The installed package that runs, Python's own library not counted: "torch"; "Lacuna" for our
  /// hook; empty: the user's code or Python itself.
  std::string_view package{};

  /// "train.py:42"
  [[nodiscard]] std::string place(const Store& store) const;
};

/// The call stacks of Python programs as places.
class PythonPlaces {
 public:
  /// Reads the frames of the store, which outlives it.
  static prof::Result<PythonPlaces> load(const Store& store);

  /// The innermost frame of the user's code, or, where there is none, the outermost one; nothing of
  /// a stack that is not there. In a loader's process only the frames of its dataset count.
  [[nodiscard]] const PythonPlace* of(prof::FrameId stack, bool ofLoader);

 private:
  struct Frame {
    prof::FrameId parent;
    prof::StringId function, module, file;
    std::uint32_t line = 0;
  };
  [[nodiscard]] std::vector<const Frame*> framesOf(prof::FrameId stack) const;
  [[nodiscard]] PythonPlace placeOf(const std::vector<const Frame*>& frames) const;
  void learn(prof::StringId file);

  const Store* store_ = nullptr;
  std::unordered_map<prof::FrameId, Frame> frames_;
  std::unordered_map<prof::StringId, bool> libraries_;
  std::unordered_map<prof::FrameId, PythonPlace> places_[2];
};

}  // namespace lacuna::analyzer
