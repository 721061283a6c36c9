// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace lacuna::collector::torch {

/// Two tensors of one shape and one type, which a trial hands to operators.
struct TrialTensors {
  static constexpr std::size_t kDims = 3;
  const void* first = nullptr;  ///< PyTorch's object, `Tensor._cdata` in Python
  const void* second = nullptr;
  std::int64_t shape[kDims] = {};
  std::uint16_t type = 0;  ///< PyTorch's number of the element type
};

/// Finds what PyTorch's operators are called with. Only PyTorch's headers know where it keeps
/// inputs, and this library is built without them. So the places are found by trials: calls with
/// tensors whose shapes and types are known. Every trial must confirm what the first one found.
class Inputs {
 public:
  /// A trial: an operator was called with (first, second, the number 1).
  void tryOperands(const void* function, const TrialTensors& tensors);
  /// A trial: an operator was called with ([first, second], a number).
  void tryList(const void* function, const TrialTensors& tensors);
  /// True when enough trials found the same places.
  [[nodiscard]] bool found() const;

  /// Writes the inputs as text, "f32[8,3,32,32] {f32[16] f32[16]} (1,1)": tensors, lists of tensors
  /// in braces, and lists of whole numbers in parentheses. Returns its length without the end mark;
  /// 0 when there is no tensor among them. Only after found().
  std::size_t describe(const void* function, char* text, std::size_t room) const;

 private:
  struct Operands {
    std::size_t at;  ///< in the function's record: the first input's address, then their number
    std::uint32_t tensor, number;  ///< tags of values
    bool operator==(const Operands&) const = default;
  };
  struct List {
    std::uint32_t tag;
    std::size_t at;  ///< in the list's object: the addresses of its first value and of its end
    bool operator==(const List&) const = default;
  };
  template <class Place>
  struct Trials {
    std::optional<Place> place;
    int same = 0;
    bool disagree = false;
    void add(const std::optional<Place>& seen);
  };

  Trials<Operands> operands_;
  Trials<List> list_;
  Trials<std::size_t> shape_;  ///< in a tensor's object: its number of dimensions, before its shape
};

}  // namespace lacuna::collector::torch
