// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/snapshot/pickle.h"

#include <fmt/format.h>

#include <bit>
#include <functional>
#include <unordered_map>

namespace lacuna::analyzer {

namespace {

constexpr std::uint64_t kMaxPickleBytes = std::uint64_t{4} << 30;
constexpr std::uint64_t kMaxTextBytes = 64 << 20;
/// Refs number values.
constexpr std::uint64_t kMaxValues = UINT32_MAX;
/// Dictionaries of more keys are indexed: a file may ask for one of them again and again.
constexpr std::size_t kFewKeys = 32;

/// The opcodes that would run code or fetch objects, and others that a plain pickle has no use for.
std::string_view refusedName(unsigned char opcode) {
  switch (opcode) {
    case 'c':
      return "GLOBAL, which names a class or function";
    case 0x93:
      return "STACK_GLOBAL, which names a class or function";
    case 'R':
      return "REDUCE, which calls a function";
    case 'b':
      return "BUILD, which calls a method";
    case 'i':
      return "INST, which makes an object";
    case 'o':
      return "OBJ, which makes an object";
    case 0x81:
      return "NEWOBJ, which makes an object";
    case 0x92:
      return "NEWOBJ_EX, which makes an object";
    case 0x82:
    case 0x83:
    case 0x84:
      return "EXT, which fetches an object";
    case 'P':
      return "PERSID, which fetches an object";
    case 'Q':
      return "BINPERSID, which fetches an object";
    case 0x97:
      return "NEXT_BUFFER, which needs data beside the file";
    case 0x98:
      return "READONLY_BUFFER, which needs data beside the file";
    default:
      return {};
  }
}

}  // namespace

/// The machine that runs a pickle's opcodes on plain values.
class PickleReader {
 public:
  PickleReader(ByteSource& source, std::uint64_t mostValues, const std::function<bool()>& goOn)
      : source_(source), most_(std::min(mostValues, kMaxValues)), goOn_(goOn) {}

  prof::Result<Pickle> read() {
    // One None, two truth values and one empty tuple serve all.
    for (const auto& value :
         {Pickle::Value{Pickle::Type::None, 0}, Pickle::Value{Pickle::Type::Bool, 0},
          Pickle::Value{Pickle::Type::Bool, 1},
          Pickle::Value{Pickle::Type::List, Pickle::kNoItems}}) {
      out_.values_.push_back(value);
    }
    while (!done_ && problem_.empty()) {
      at_ = offset_;
      unsigned char opcode = 0;
      if (!byte(opcode)) break;
      step(opcode);
      if (out_.values_.size() + stack_.size() + marks_.size() + references_ > most_) {
        stop(
            fmt::format("holds more than {} values, the budget for a file of this size; --budget "
                        "values=… raises it",
                        most_));
      }
      if (offset_ > kMaxPickleBytes) stop("is larger than 4 GiB, which lacuna does not read");
      if ((++steps_ & 0xfffff) == 0 && goOn_ && !goOn_()) stop("was cancelled");
    }
    if (problem_.empty() && !done_) stop("ends before its STOP: the file breaks off");
    if (problem_.empty() && stack_.size() != 1) stop("does not end with one value");
    if (!problem_.empty()) return prof::Error{problem_};
    out_.root_ = stack_.back();
    return std::move(out_);
  }

 private:
  using Ref = Pickle::Ref;
  using Type = Pickle::Type;

  void stop(std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("byte {}: the pickle {}", at_, what);
  }
  bool byte(unsigned char& value) {
    if (next_ == have_) {
      next_ = 0;
      have_ = source_.read(buffer_.data(), buffer_.size());
      if (have_ == 0) {
        stop(source_.problem().empty() ? "ends before its STOP: the file breaks off"
                                       : source_.problem());
        return false;
      }
    }
    value = static_cast<unsigned char>(buffer_[next_++]);
    ++offset_;
    return true;
  }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      unsigned char part = 0;
      if (!byte(part)) return 0;
      value |= static_cast<std::uint64_t>(part) << (8 * i);
    }
    return value;
  }
  /// Grows with what is there, so that a claimed length alone takes no memory.
  std::string_view bytes(std::uint64_t size) {
    scratch_.clear();
    if (size > kMaxTextBytes) stop(fmt::format("claims a text of {} bytes", size));
    while (problem_.empty() && scratch_.size() < size) {
      unsigned char part = 0;
      if (!byte(part)) return {};
      scratch_ += static_cast<char>(part);
      const std::size_t taken = std::min<std::size_t>(size - scratch_.size(), have_ - next_);
      scratch_.append(buffer_.data() + next_, taken);
      next_ += taken;
      offset_ += taken;
    }
    return scratch_;
  }

  Ref add(Type type, std::uint64_t bits) {
    out_.values_.push_back({type, bits});
    return static_cast<Ref>(out_.values_.size() - 1);
  }
  Ref addItems(Type type, std::vector<Ref> items) {
    if (items.empty()) return add(type, Pickle::kNoItems);
    references_ += items.size();
    out_.items_.push_back(std::move(items));
    return add(type, out_.items_.size() - 1);
  }
  void push(Ref value) { stack_.push_back(value); }
  Ref pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() == marks_.back()))
      return stop("takes a value from an empty stack"), 0;
    const Ref top = stack_.back();
    stack_.pop_back();
    return top;
  }
  std::vector<Ref> popToMark() {
    if (marks_.empty()) return stop("has no mark where it needs one"), std::vector<Ref>();
    std::vector<Ref> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                           stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  /// The items of the container on top of the stack.
  std::vector<Ref>* container(Type type) {
    const bool isThere = !stack_.empty() && out_.values_[stack_.back()].type == type;
    if (!isThere) return stop("adds to what is no container"), nullptr;
    std::uint64_t& place = out_.values_[stack_.back()].bits;
    if (place == Pickle::kNoItems) {
      place = out_.items_.size();
      out_.items_.emplace_back();
    }
    return &out_.items_[place];
  }
  void extend(Type type, const std::vector<Ref>& items) {
    if (type == Type::Dict && items.size() % 2 != 0) return stop("has a key without a value");
    if (items.empty() || (!stack_.empty() && stack_.back() == kEmptyTuple)) return;
    references_ += items.size();
    if (auto* to = container(type)) to->insert(to->end(), items.begin(), items.end());
  }
  void tuple(std::size_t size) {
    std::vector<Ref> items(size);
    for (std::size_t i = size; i-- > 0;) items[i] = pop();
    push(addItems(Type::List, std::move(items)));
  }
  void remember(std::uint64_t slot) {
    if (stack_.empty()) return stop("remembers a value that is not there");
    memo_[slot] = stack_.back();
  }
  void recall(std::uint64_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end())
      return stop(fmt::format("recalls slot {}, which nothing was put into", slot));
    push(found->second);
  }
  void takeInteger(std::size_t size) {
    if (size > 8) {
      if (bytes(size).size() < size) return;
      return push(add(Type::Integer,
                      scratch_.back() < 0 ? static_cast<std::uint64_t>(INT64_MIN) : INT64_MAX));
    }
    std::uint64_t value = number(size);
    const unsigned bits = static_cast<unsigned>(size) * 8;
    if (bits != 0 && bits < 64 && (value >> (bits - 1) & 1) != 0)
      value |= ~std::uint64_t{0} << bits;
    push(add(Type::Integer, value));
  }
  void text(Type type, std::uint64_t size) {
    const std::string_view value = bytes(size);
    push(add(type, out_.texts_.intern(value).value));
  }

  void step(unsigned char opcode) {
    switch (opcode) {
      case 0x80: {
        const std::uint64_t protocol = number(1);
        if (protocol < 2 || protocol > 5)
          stop(fmt::format("has protocol {}; lacuna reads 2 to 5", protocol));
        return;
      }
      case 0x95:
        number(8);
        return;
      case '.':
        done_ = true;
        return;
      case 'N':
        return push(0);
      case 0x89:
        return push(1);
      case 0x88:
        return push(2);
      case 'K':
        return push(add(Type::Integer, number(1)));
      case 'M':
        return push(add(Type::Integer, number(2)));
      case 'J':
        return takeInteger(4);
      case 0x8a:
        return takeInteger(number(1));
      case 0x8b:
        return takeInteger(number(4));
      case 'G':
        return push(add(Type::Real, __builtin_bswap64(number(8))));
      case 0x8c:
        return text(Type::Text, number(1));
      case 'X':
        return text(Type::Text, number(4));
      case 0x8d:
        return text(Type::Text, number(8));
      case 'U':
        return text(Type::Text, number(1));
      case 'T':
        return text(Type::Text, number(4));
      case 'C':
        return text(Type::Bytes, number(1));
      case 'B':
        return text(Type::Bytes, number(4));
      case 0x8e:
      case 0x96:
        return text(Type::Bytes, number(8));
      default:
        return structure(opcode);
    }
  }

  void structure(unsigned char opcode) {
    switch (opcode) {
      case '(':
        return marks_.push_back(stack_.size());
      case '0':
        pop();
        return;
      case '1':
        popToMark();
        return;
      case '2':
        if (stack_.empty()) return stop("copies a value that is not there");
        return push(stack_.back());
      case ')':
        return push(kEmptyTuple);
      case ']':
      case 0x8f:
        return push(addItems(Type::List, {}));
      case '}':
        return push(addItems(Type::Dict, {}));
      case 'l':
      case 't':
      case 0x91:
        return push(addItems(Type::List, popToMark()));
      case 'd': {
        auto items = popToMark();
        if (items.size() % 2 != 0) return stop("has a key without a value");
        return push(addItems(Type::Dict, std::move(items)));
      }
      case 0x85:
      case 0x86:
      case 0x87:
        return tuple(opcode - 0x84U);
      case 'a':
        return extend(Type::List, {pop()});
      case 'e':
      case 0x90:
        return extend(Type::List, popToMark());
      case 's': {
        const Ref value = pop();
        const Ref key = pop();
        return extend(Type::Dict, {key, value});
      }
      case 'u':
        return extend(Type::Dict, popToMark());
      case 'q':
        return remember(number(1));
      case 'r':
        return remember(number(4));
      case 0x94:
        return remember(memo_.size());
      case 'h':
        return recall(number(1));
      case 'j':
        return recall(number(4));
      default:
        return refuse(opcode);
    }
  }

  void refuse(unsigned char opcode) {
    const std::string_view name = refusedName(opcode);
    stop(name.empty()
             ? fmt::format("has the opcode 0x{:02x}, which a plain pickle does not have", opcode)
             : fmt::format("has the opcode {}; lacuna executes nothing, so it is refused", name));
  }

  static constexpr Ref kEmptyTuple = 3;

  ByteSource& source_;
  std::uint64_t most_;
  std::uint64_t references_ = 0;  ///< items of containers
  const std::function<bool()>& goOn_;
  Pickle out_;
  std::vector<char> buffer_ = std::vector<char>(1 << 18);
  std::size_t next_ = 0, have_ = 0;
  std::uint64_t offset_ = 0, at_ = 0, steps_ = 0;
  std::string scratch_, problem_;
  std::vector<Ref> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Ref> memo_;
  bool done_ = false;
};

prof::Result<Pickle> Pickle::read(ByteSource& source, std::uint64_t mostValues,
                                  const std::function<bool()>& goOn) {
  return PickleReader(source, mostValues, goOn).read();
}

std::int64_t Pickle::integer(Ref value) const {
  switch (type(value)) {
    case Type::Bool:
    case Type::Integer:
      return static_cast<std::int64_t>(values_[value].bits);
    case Type::Real: {
      const double number = real(value);
      return number > -9e18 && number < 9e18 ? static_cast<std::int64_t>(number) : 0;
    }
    default:
      return 0;
  }
}

double Pickle::real(Ref value) const {
  return type(value) == Type::Real ? std::bit_cast<double>(values_[value].bits)
                                   : static_cast<double>(integer(value));
}

std::string_view Pickle::text(Ref value) const {
  const bool isText = type(value) == Type::Text || type(value) == Type::Bytes;
  return isText ? texts_.text(prof::StringId(static_cast<std::uint32_t>(values_[value].bits)))
                : std::string_view();
}

std::uint32_t Pickle::textNumber(Ref value) const {
  const bool isText = type(value) == Type::Text || type(value) == Type::Bytes;
  return isText ? static_cast<std::uint32_t>(values_[value].bits) : 0;
}

const std::vector<Pickle::Ref>& Pickle::items(Ref value) const {
  static const std::vector<Ref> kNone;
  const bool isContainer = type(value) == Type::List || type(value) == Type::Dict;
  return isContainer && values_[value].bits != kNoItems ? items_[values_[value].bits] : kNone;
}

std::optional<Pickle::Ref> Pickle::find(Ref dictionary, std::string_view key) const {
  if (type(dictionary) != Type::Dict) return std::nullopt;
  const prof::StringId id = texts_.find(key);
  if (!id && !key.empty()) return std::nullopt;
  const auto& pairs = items(dictionary);
  if (pairs.size() > 2 * kFewKeys) {
    const auto [at, isNew] = indexes_.try_emplace(values_[dictionary].bits);
    for (std::size_t i = 0; isNew && i + 2 <= pairs.size(); i += 2) {
      const Value& name = values_[pairs[i]];
      if (name.type == Type::Text) at->second[name.bits] = pairs[i + 1];
    }
    const auto found = at->second.find(id.value);
    return found == at->second.end() ? std::nullopt : std::optional(found->second);
  }
  for (std::size_t i = pairs.size(); i >= 2; i -= 2) {
    const Value& name = values_[pairs[i - 2]];
    if (name.type == Type::Text && name.bits == id.value) return pairs[i - 1];
  }
  return std::nullopt;
}

}  // namespace lacuna::analyzer
