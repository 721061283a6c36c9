// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "torch/inputs.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <functional>
#include <numeric>
#include <string_view>

namespace lacuna::collector::torch {
namespace {

using Address = std::uint64_t;

/// An input: eight bytes of content, then what they are.
struct Value {
  std::uint64_t content;
  std::uint32_t tag;
  std::uint32_t unused;
};

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kRecordBytes = 384;  // of an operator's record, searched for its inputs
constexpr std::size_t kTensorBytes = 320;  // of a tensor's object
constexpr std::size_t kListBytes = 64;     // of a list's object
constexpr int kTrials = 3;

// A tensor keeps the number of its dimensions, room for five sizes and five strides (with more
// dimensions, the address of both), an offset, the number of its values and its type.
constexpr std::size_t kInPlaceDims = 5;
constexpr std::size_t kValuesAfterDims = (1 + 2 * kInPlaceDims + 1) * kWord;
constexpr std::size_t kTypeAfterDims = kValuesAfterDims + kWord;

/// PyTorch's element types by their numbers, which saved models depend on.
constexpr std::string_view kTypes[] = {"u8",    "i8",     "i16",    "i32", "i64",  "f16",
                                       "f32",   "f64",    "c32",    "c64", "c128", "bool",
                                       "qint8", "quint8", "qint32", "bf16"};

template <class T>
T load(Address from) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(from), sizeof value);
  return value;
}

Address addressOf(const void* object) {
  return reinterpret_cast<Address>(object);
}

/// Copies memory that may not exist; the kernel refuses to write it to a pipe then.
class CarefulReader {
 public:
  CarefulReader() : open_(pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0) {}
  CarefulReader(const CarefulReader&) = delete;
  CarefulReader& operator=(const CarefulReader&) = delete;
  ~CarefulReader() {
    if (!open_) return;
    close(ends_[0]);
    close(ends_[1]);
  }
  bool copy(Address from, void* to, std::size_t bytes) const {
    if (!open_ || from % kWord != 0) return false;
    const auto count = write(ends_[1], reinterpret_cast<const void*>(from), bytes);
    return count > 0 &&
           read(ends_[0], to, static_cast<std::size_t>(count)) == static_cast<ssize_t>(bytes);
  }

 private:
  int ends_[2] = {-1, -1};
  bool open_;
};

bool holds(const Value* values, const TrialTensors& tensors) {
  return values[0].content == addressOf(tensors.first) &&
         values[1].content == addressOf(tensors.second) && values[0].tag == values[1].tag;
}

std::optional<std::size_t> placeOfShape(const CarefulReader& reader, const TrialTensors& tensors) {
  std::uint64_t words[kTensorBytes / kWord];
  if (!reader.copy(addressOf(tensors.first), words, sizeof words)) return std::nullopt;
  const auto values = std::accumulate(std::begin(tensors.shape), std::end(tensors.shape),
                                      std::int64_t{1}, std::multiplies<>());
  for (std::size_t i = 0; (i + 1) * kWord + kTypeAfterDims <= sizeof words; ++i) {
    if (words[i] == TrialTensors::kDims &&
        std::memcmp(words + i + 1, tensors.shape, sizeof tensors.shape) == 0 &&
        words[i + kValuesAfterDims / kWord] == static_cast<std::uint64_t>(values) &&
        static_cast<std::uint16_t>(words[i + kTypeAfterDims / kWord]) == tensors.type) {
      return i * kWord;
    }
  }
  return std::nullopt;
}

/// Text in a buffer. If it does not fit, it is cut behind the last item that does.
class Line {
 public:
  static constexpr std::size_t kSpare = 8;  // for the mark of a cut and the end
  Line(char* text, std::size_t room)
      : begin_(text), at_(text), end_(text + room - kSpare), complete_(text) {}
  void put(char c) {
    if (at_ < end_) *at_++ = c;
  }
  void put(std::string_view text) {
    for (const char c : text) put(c);
  }
  void put(std::int64_t number) {
    const auto [end, error] = std::to_chars(at_, end_, number);
    at_ = error == std::errc() ? end : end_;
  }
  void space() {
    if (at_ != begin_ && at_[-1] != '{') put(' ');
  }
  template <class Numbers>
  void numbers(char open, char close, std::size_t count, Numbers&& number) {
    put(open);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) put(',');
      put(number(i));
    }
    put(close);
    endItem();
  }
  /// Marks the end of an item. A cut falls behind one.
  void endItem() {
    if (at_ < end_) complete_ = at_;
  }
  [[nodiscard]] bool full() const { return at_ == end_; }
  std::size_t finish() {
    constexpr std::string_view kMore = " ...";
    if (full()) {
      at_ = complete_;
      end_ += kMore.size();
      put(kMore);
    }
    *at_ = 0;
    return static_cast<std::size_t>(at_ - begin_);
  }

 private:
  char* begin_;
  char* at_;
  char* end_;
  char* complete_;
};

/// False for what is no tensor: PyTorch's object for "none" has a type that is not in the table.
bool putTensor(Line& line, Address tensor, std::size_t shapeAt) {
  constexpr std::uint64_t kMostDims = 64;  // PyTorch's own limit
  const auto type = load<std::uint16_t>(tensor + shapeAt + kTypeAfterDims);
  const auto dims = load<std::uint64_t>(tensor + shapeAt);
  if (type >= std::size(kTypes) || dims > kMostDims) return false;
  Address sizes = tensor + shapeAt + kWord;
  if (dims > kInPlaceDims) sizes = load<Address>(sizes);
  line.space();
  line.put(kTypes[type]);
  line.numbers('[', ']', dims,
               [&](std::size_t i) { return load<std::int64_t>(sizes + i * kWord); });
  return true;
}

}  // namespace

template <class Place>
void Inputs::Trials<Place>::add(const std::optional<Place>& seen) {
  disagree |= !seen || (place && *place != *seen);
  place = seen;
  ++same;
}

void Inputs::tryOperands(const void* function, const TrialTensors& tensors) {
  const CarefulReader reader;
  std::optional<Operands> seen;
  std::uint64_t words[kRecordBytes / kWord];
  if (!reader.copy(addressOf(function), words, sizeof words)) return operands_.add(std::nullopt);
  for (std::size_t i = 0; i + 1 < std::size(words) && !seen; ++i) {
    constexpr std::uint64_t kArguments = 3;
    Value values[kArguments];
    if (words[i + 1] != kArguments || !reader.copy(words[i], values, sizeof values)) continue;
    if (holds(values, tensors) && values[2].content == 1)
      seen = Operands{i * kWord, values[0].tag, values[2].tag};
  }
  operands_.add(seen);
  shape_.add(placeOfShape(reader, tensors));
}

void Inputs::tryList(const void* function, const TrialTensors& tensors) {
  const CarefulReader reader;
  std::optional<List> seen;
  Value first;
  std::uint64_t words[kListBytes / kWord];
  if (!operands_.place ||
      !reader.copy(load<Address>(addressOf(function) + operands_.place->at), &first,
                   sizeof first) ||
      !reader.copy(first.content, words, sizeof words)) {
    return list_.add(std::nullopt);
  }
  for (std::size_t i = 0; i + 1 < std::size(words) && !seen; ++i) {
    Value values[2];
    if (words[i + 1] - words[i] != sizeof values || !reader.copy(words[i], values, sizeof values))
      continue;
    if (holds(values, tensors) && values[0].tag == operands_.place->tensor)
      seen = List{first.tag, i * kWord};
  }
  list_.add(seen);
}

bool Inputs::found() const {
  const auto sure = [](const auto& trials) { return trials.same >= kTrials && !trials.disagree; };
  return sure(operands_) && sure(list_) && sure(shape_);
}

std::size_t Inputs::describe(const void* function, char* text, std::size_t room) const {
  constexpr std::uint64_t kMostInputs = 64;
  const Operands& operands = *operands_.place;
  const auto from = load<Address>(addressOf(function) + operands.at);
  const auto count = load<std::uint64_t>(addressOf(function) + operands.at + kWord);
  if (count > kMostInputs) return 0;
  Line line(text, room);
  bool tensors = false;
  const auto putList = [&](Address list) {
    const auto begin = load<Address>(list + list_.place->at);
    const auto end = load<Address>(list + list_.place->at + kWord);
    if (begin == end) return;
    const auto size = static_cast<std::size_t>(end - begin) / sizeof(Value);
    if (load<Value>(begin).tag == operands.number) {
      line.space();
      line.numbers('(', ')', size, [&](std::size_t i) {
        return static_cast<std::int64_t>(load<Value>(begin + i * sizeof(Value)).content);
      });
      return;
    }
    if (load<Value>(begin).tag != operands.tensor) return;
    line.space();
    line.put('{');
    for (std::size_t i = 0; i < size && !line.full(); ++i) {
      const auto value = load<Value>(begin + i * sizeof(Value));
      if (value.tag == operands.tensor) tensors |= putTensor(line, value.content, *shape_.place);
    }
    line.put('}');
    line.endItem();
  };
  for (std::uint64_t i = 0; i < count && !line.full(); ++i) {
    const auto value = load<Value>(from + i * sizeof(Value));
    if (value.tag == operands.tensor) tensors |= putTensor(line, value.content, *shape_.place);
    if (value.tag == list_.place->tag) putList(value.content);
  }
  return tensors ? line.finish() : 0;
}

}  // namespace lacuna::collector::torch
