// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

#include "nvtx/schema.h"
#include "nvtx/time.h"

namespace lacuna::collector::nvtx {
namespace {

constexpr std::size_t kMaxBytes = 65536;
constexpr std::size_t kMaxText = 2048;
constexpr std::size_t kMaxElements = 16;
constexpr int kMaxDepth = 4;
constexpr std::uint64_t kMaxDimensions = 8;
constexpr std::uint64_t kArray =
    NVTX_PAYLOAD_ENTRY_FLAG_IS_ARRAY | NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX;
constexpr std::uint64_t kDisplaced =
    NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE;

void appendNumber(std::string& out, std::uint64_t type, std::uint64_t bits) {
  char digits[40];
  const auto kind = kindOf(type);
  if (type == NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS) {
    std::snprintf(digits, sizeof digits, "0x%" PRIx64, bits);
  } else if (kind == NumberKind::Real) {
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    std::snprintf(digits, sizeof digits, "%.9g", value);
  } else if (kind == NumberKind::Signed) {
    std::snprintf(digits, sizeof digits, "%" PRId64, static_cast<std::int64_t>(bits));
  } else {
    std::snprintf(digits, sizeof digits, "%" PRIu64, bits);
  }
  out += digits;
}

/// Not every compiler has a number of 128 bits, so it is divided by hand.
void appendWide(std::string& out, bool isSigned, const unsigned char* at) {
  std::uint64_t low = 0, high = 0;
  std::memcpy(&low, at, sizeof low);
  std::memcpy(&high, at + sizeof low, sizeof high);
  if (isSigned && high >> 63 != 0) {
    out += '-';
    low = ~low + 1;
    high = ~high + (low == 0 ? 1 : 0);
  }
  std::uint64_t parts[] = {high >> 32, high & 0xffffffff, low >> 32, low & 0xffffffff};
  char digits[40];
  std::size_t first = sizeof digits;
  do {
    std::uint64_t rest = 0;
    for (std::uint64_t& part : parts) {
      const std::uint64_t value = rest << 32 | part;
      part = value / 10;
      rest = value % 10;
    }
    digits[--first] = static_cast<char>('0' + rest);
  } while ((parts[0] | parts[1] | parts[2] | parts[3]) != 0);
  out.append(digits + first, sizeof digits - first);
}

/// As it stands in the payload, where a number can be wider than what readNumber() gives.
void appendNumberAt(std::string& out, std::uint64_t type, const unsigned char* at) {
  if (type == NVTX_PAYLOAD_ENTRY_TYPE_INT128 || type == NVTX_PAYLOAD_ENTRY_TYPE_UINT128) {
    appendWide(out, type == NVTX_PAYLOAD_ENTRY_TYPE_INT128, at);
  } else {
    appendNumber(out, type, readNumber(type, at));
  }
}

void appendEnum(std::string& out, const Schema& schema, std::uint64_t value) {
  std::uint64_t left = value;
  bool first = true;
  for (const auto& entry : schema.names) {
    const bool fits =
        entry.flag ? entry.value != 0 && (left & entry.value) == entry.value : entry.value == value;
    if (!fits) continue;
    if (!first) out += '|';
    out += entry.name;
    first = false;
    if (!entry.flag) return;
    left &= ~entry.value;
  }
  if (first) appendNumber(out, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, value);
}

/// Length of text that was cut, without a character whose end is missing.
std::size_t completeLength(std::string_view text) {
  std::size_t last = text.size();  // after where the last character begins
  while (last > 0 && text.size() - last < 3 && (text[last - 1] & 0xc0) == 0x80) --last;
  if (last == 0) return text.size();
  const auto lead = static_cast<unsigned char>(text[last - 1]);
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return text.size() - last + 1 < bytes ? last - 1 : text.size();
}

/// The beginning of a text that ends with a zero or after `room` bytes, as much as we keep.
std::string_view beginningOf(const char* words, std::size_t room) {
  const std::size_t most = std::min(room, kMaxText);
  const std::string_view text(words, strnlen(words, most));
  return text.size() == most ? text.substr(0, completeLength(text)) : text;
}

bool isString(std::uint64_t type) {
  return type >= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING && type <= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32;
}
std::size_t charSize(std::uint64_t type) {
  if (type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16) return 2;
  return type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32 ? 4 : 1;
}

/// Reads one payload from its first byte to its last.
class Walk {
 public:
  Walk(const Domain& domain, std::span<const nvtxPayloadData_t> all, const unsigned char* data,
       std::size_t size, Payloads& out)
      : domain_(domain),
        all_(all),
        data_(data),
        size_(size < kMaxBytes ? size : kMaxBytes),
        out_(out) {}

  bool schema(const Schema& schema, int depth) {
    const std::size_t base = at_;
    std::uint64_t seen[64] = {};
    for (std::size_t i = 0; i < schema.entries.size(); ++i) {
      const auto& entry = schema.entries[i];
      if (entry.offset != 0 || entry.placed) at_ = base + entry.offset;
      const std::size_t shown = out_.text.size();
      if (!element(schema, entry, i, seen, depth)) return false;
      if ((entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_HIDE) != 0) out_.text.resize(shown);
    }
    if (schema.size != 0) at_ = base + schema.size;
    return true;
  }

 private:
  [[nodiscard]] bool has(std::size_t bytes) const { return at_ <= size_ && bytes <= size_ - at_; }
  void align(std::size_t alignment, const Schema& schema) {
    if (schema.pack != 0 && schema.pack < alignment) alignment = schema.pack;
    if (alignment > 1) at_ = (at_ + alignment - 1) / alignment * alignment;
  }
  void label(const SchemaEntry& entry) {
    const char last = out_.text.empty() ? '{' : out_.text.back();
    if (last != '{' && last != '[' && last != ',') out_.text += ' ';
    if (entry.name.empty()) return;
    out_.text += entry.name;
    out_.text += '=';
  }

  bool element(const Schema& schema, const SchemaEntry& entry, std::size_t index,
               std::uint64_t (&seen)[64], int depth) {
    const auto array = entry.flags & kArray;
    const bool pointer = (entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) != 0;
    const Schema* nested = sizeOfType(entry.type) == 0 && !isString(entry.type)
                               ? findSchema(domain_, entry.type)
                               : nullptr;
    if ((entry.flags & kDisplaced) != 0) return displaced(schema, entry, index, seen, depth);
    if (isString(entry.type)) return text(schema, entry, array, pointer, seen);
    if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR) return skipSelector(schema, index);
    const std::size_t size = nested != nullptr ? nested->size : sizeOfType(entry.type);
    if (pointer) return pointed(schema, entry, index, seen, depth);
    if (size == 0) return opaque(schema, entry);
    if (!entry.placed && entry.offset == 0)
      align(nested != nullptr ? nested->alignment : size, schema);
    if (nested != nullptr && isUnion(*nested))
      return array == 0 && member(*nested, entry, seen, depth);
    if (array == 0)
      return nested != nullptr ? group(*nested, entry, depth) : number(entry, index, seen);
    return list(entry, nested, size, lengthOf(entry, array, size, seen), index, seen, depth);
  }

  std::uint64_t lengthOf(const SchemaEntry& entry, std::uint64_t array, std::size_t size,
                         const std::uint64_t (&seen)[64]) const {
    switch (array) {
      case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX:
        return entry.detail < 64 && static_cast<std::int64_t>(seen[entry.detail]) > 0
                   ? seen[entry.detail]
                   : 0;
      case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX:
        return lengthInPayload(entry.detail);
      case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED:
        return untilZero(size);
      default:
        return entry.detail;
    }
  }

  /// Another payload of the event holds nothing but the length, or the lengths by dimension: a
  /// plain number or a schema of one entry.
  std::uint64_t lengthInPayload(std::uint64_t index) const {
    if (index >= all_.size() || all_[index].payload == nullptr) return 0;
    const nvtxPayloadData_t& payload = all_[index];
    std::uint64_t type = payload.schemaId, offset = 0, count = 1;
    if (const Schema* schema = findSchema(domain_, type);
        schema != nullptr && !schema->entries.empty()) {
      const SchemaEntry& entry = schema->entries[0];
      if ((entry.flags & kArray) == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE) count = entry.detail;
      type = entry.type;
      offset = entry.offset;
    } else if (const std::size_t size = sizeOfType(type); size != 0 && payload.size != SIZE_MAX) {
      count = payload.size / size;
    }
    const std::size_t size = sizeOfType(type);
    if (size == 0 || count > kMaxElements) return 0;
    if (payload.size != SIZE_MAX && offset + count * size > payload.size) return 0;
    return product(type, static_cast<const unsigned char*>(payload.payload) + offset, count);
  }

  /// Product of an array's lengths by dimension: none below 0, and more than any payload holds
  /// where it would overflow.
  static std::uint64_t product(std::uint64_t type, const unsigned char* at, std::uint64_t count) {
    std::uint64_t all = 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto one = static_cast<std::int64_t>(readNumber(type, at + i * sizeOfType(type)));
      if (one <= 0) return 0;
      if (__builtin_mul_overflow(all, static_cast<std::uint64_t>(one), &all)) all = INT64_MAX;
    }
    return all;
  }

  static bool isUnion(const Schema& schema) {
    return schema.type == NVTX_PAYLOAD_SCHEMA_TYPE_UNION ||
           schema.type == NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR;
  }

  /// NVTX gives selectors and offsets no width: they reach to the next entry, or are what is usual.
  static std::size_t widthOf(const Schema& schema, std::size_t index, std::size_t usual) {
    const std::uint64_t at = schema.entries[index].offset;
    const std::uint64_t next =
        index + 1 < schema.entries.size() ? schema.entries[index + 1].offset : 0;
    std::uint64_t width = next > at ? next - at : usual;
    if (schema.size > at) width = std::min<std::uint64_t>(width, schema.size - at);
    return width >= 8 ? 8 : width >= 4 ? 4 : width >= 2 ? 2 : 1;
  }

  /// The value lies elsewhere in the payload, at an offset from its begin or from the end of this
  /// entry.
  bool displaced(const Schema& schema, const SchemaEntry& entry, std::size_t index,
                 std::uint64_t (&seen)[64], int depth) {
    const std::size_t width = widthOf(schema, index, sizeof(std::uint64_t));
    if (!entry.placed && entry.offset == 0) align(width, schema);
    if (depth >= kMaxDepth || !has(width)) return false;
    std::uint64_t offset = 0;
    std::memcpy(&offset, data_ + at_, width);
    at_ += width;
    const std::size_t behind = at_;
    const std::size_t from =
        (entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE) != 0 ? behind : 0;
    if (offset > size_ || from + offset > size_) return false;
    SchemaEntry plain = entry;
    plain.flags &= ~kDisplaced;
    plain.placed = true;
    // A text without a length ends where texts end.
    if (isString(entry.type) && entry.detail == 0 && (entry.flags & kArray) == 0) {
      plain.flags |= NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED;
    }
    at_ = from + offset;
    const bool complete = element(schema, plain, index, seen, depth + 1);
    at_ = behind;
    return complete;
  }

  bool skipSelector(const Schema& schema, std::size_t index) {
    at_ += widthOf(schema, index, sizeof(int));
    return at_ <= size_;
  }

  /// Finds the member that holds, by an entry of the structure around the union, or by a selector
  /// within its members.
  bool selected(const Schema& chosen, const SchemaEntry& entry, const std::uint64_t (&seen)[64],
                std::uint64_t& member) const {
    if (chosen.type == NVTX_PAYLOAD_SCHEMA_TYPE_UNION) {
      if (entry.detail >= 64) return false;
      member = seen[entry.detail];
      return true;
    }
    for (const auto& one : chosen.entries) {
      const Schema* schema = findSchema(domain_, one.type);
      for (std::size_t i = 0; schema != nullptr && i < schema->entries.size(); ++i) {
        if (schema->entries[i].type != NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR) continue;
        const std::size_t width = widthOf(*schema, i, sizeof(int));
        const std::size_t at = at_ + one.offset + schema->entries[i].offset;
        if (at > size_ || size_ - at < width) return false;
        member = 0;
        std::memcpy(&member, data_ + at, width);
        return true;
      }
    }
    return false;
  }

  bool member(const Schema& chosen, const SchemaEntry& entry, std::uint64_t (&seen)[64],
              int depth) {
    std::uint64_t index = 0;
    if (depth >= kMaxDepth || !has(chosen.size) || !selected(chosen, entry, seen, index))
      return false;
    if (index >= chosen.entries.size()) return false;
    const std::size_t base = at_;
    label(entry);
    out_.text += '{';
    SchemaEntry one = chosen.entries[index];
    at_ = base + one.offset;
    one.placed = true;
    std::uint64_t inner[64] = {};
    const bool complete = element(chosen, one, index, inner, depth + 1);
    out_.text += '}';
    at_ = base + chosen.size;
    return complete;
  }

  /// A pointer is followed where it leads into a payload of the same event, or where the program
  /// asks for a copy.
  bool pointed(const Schema& schema, const SchemaEntry& entry, std::size_t index,
               std::uint64_t (&seen)[64], int depth) {
    align(sizeof(void*), schema);
    if (depth >= kMaxDepth || !has(sizeof(void*))) return false;
    const std::uint64_t address = readNumber(NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS, data_ + at_);
    std::size_t size =
        (entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY) != 0 && address != 0 ? kMaxBytes : 0;
    for (const auto& payload : all_) {
      const auto begin = reinterpret_cast<std::uintptr_t>(payload.payload);
      if (payload.size != SIZE_MAX && address >= begin && address - begin < payload.size) {
        size = payload.size - (address - begin);
      }
    }
    if (size == 0) return opaque(schema, entry);
    Walk there(domain_, all_, reinterpret_cast<const unsigned char*>(address), size, out_);
    SchemaEntry plain = entry;
    plain.flags &= ~static_cast<std::uint64_t>(NVTX_PAYLOAD_ENTRY_FLAG_POINTER);
    plain.offset = 0;
    plain.placed = true;
    at_ += sizeof(void*);
    return there.element(schema, plain, index, seen, depth + 1);
  }

  std::uint64_t untilZero(std::size_t size) const {
    std::uint64_t count = 0;
    static constexpr unsigned char kZero[16] = {};
    for (std::size_t at = at_; at + size <= size_ && size <= 16; at += size, ++count) {
      if (std::memcmp(data_ + at, kZero, size) == 0) break;
    }
    return count;
  }

  bool number(const SchemaEntry& entry, std::size_t index, std::uint64_t (&seen)[64]) {
    const std::size_t size = sizeOfType(entry.type);
    if (!has(size)) return false;
    const unsigned char* at = data_ + at_;
    const std::uint64_t bits = readNumber(entry.type, at);
    if (index < 64) seen[index] = bits;
    at_ += size;
    noteForNccl(entry, bits);
    if ((entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP) != 0) {
      stamp(entry, static_cast<std::int64_t>(bits));
    } else if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32 ||
               entry.type == NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64) {
      out_.thread = static_cast<std::uint32_t>(bits);
    } else if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY) {
      out_.category = static_cast<std::uint32_t>(bits);
    } else if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB) {
      out_.colour = static_cast<std::uint32_t>(bits);
    } else if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) {
      const auto* registered = reinterpret_cast<const RegisteredText*>(bits);
      show(entry,
           registered != nullptr ? std::string_view(registered->words()) : std::string_view());
    } else {
      label(entry);
      appendNumberAt(out_.text, entry.type, at);
    }
    return true;
  }

  void stamp(const SchemaEntry& entry, std::int64_t value) {
    constexpr std::uint64_t kKind = 7 << 12;
    const bool end = (entry.flags & kKind) == NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END;
    if (!toMonotonic(entry.timeDomain, value, end ? out_.endNs : out_.beginNs))
      out_.unknownClock = true;
  }

  /// NCCL's calls carry the bytes that they move in a field of this name.
  void noteForNccl(const SchemaEntry& entry, std::uint64_t bits) {
    if (entry.name == "Message size [bytes]" && domain_.text() == "NCCL") out_.bytes = bits;
  }

  bool group(const Schema& nested, const SchemaEntry& entry, int depth) {
    if (!nested.names.empty()) {
      if (!has(nested.size) || nested.size > 8) return false;
      std::uint64_t value = 0;
      std::memcpy(&value, data_ + at_, nested.size);
      at_ += nested.size;
      label(entry);
      appendEnum(out_.text, nested, value);
      return true;
    }
    if (depth >= kMaxDepth) return false;
    label(entry);
    out_.text += '{';
    const bool complete = schema(nested, depth + 1);
    out_.text += '}';
    return complete;
  }

  bool list(const SchemaEntry& entry, const Schema* nested, std::size_t size, std::uint64_t count,
            std::size_t index, std::uint64_t (&seen)[64], int depth) {
    if (count > size_ || !has(count * size)) return false;
    const std::size_t base = at_;
    // It may hold the lengths of another array, dimension by dimension.
    if (nested == nullptr && index < 64)
      seen[index] = product(entry.type, data_ + at_, std::min(count, kMaxDimensions));
    label(entry);
    out_.text += '[';
    for (std::uint64_t i = 0; i < count && i < kMaxElements; ++i) {
      at_ = base + i * size;
      if (i != 0) out_.text += ',';
      const SchemaEntry bare{};
      if (nested == nullptr) {
        appendNumberAt(out_.text, entry.type, data_ + at_);
      } else if (!group(*nested, bare, depth)) {
        return false;
      }
    }
    if (count > kMaxElements) out_.text += ",…";
    out_.text += ']';
    at_ = base + count * size;
    return true;
  }

  bool text(const Schema& schema, const SchemaEntry& entry, std::uint64_t array, bool pointer,
            std::uint64_t (&seen)[64]) {
    const std::size_t unit = charSize(entry.type);
    const bool embedded = !pointer && (entry.detail > 0 || array != 0);
    if (!embedded) {
      align(sizeof(void*), schema);
      if (!has(sizeof(void*))) return false;
      const char* words =
          reinterpret_cast<const char*>(readNumber(NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS, data_ + at_));
      at_ += sizeof(void*);
      if (unit == 1) show(entry, words != nullptr ? beginningOf(words, kMaxText) : "");
      return true;
    }
    std::uint64_t count = lengthOf(entry, array, unit, seen);
    // The end of a text is a zero, or the end of the payload.
    if (array == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED && has((count + 1) * unit)) ++count;
    if (count > size_ || !has(count * unit)) return false;
    std::string words;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t c = unitAt(i, unit);
      if (c == 0) break;
      // Two units of 16 bits may be one character.
      if (unit == 2 && (c & 0xfc00) == 0xd800 && i + 1 < count &&
          (unitAt(i + 1, unit) & 0xfc00) == 0xdc00) {
        c = 0x10000 + ((c & 0x3ff) << 10) + (unitAt(++i, unit) & 0x3ff);
      }
      const wchar_t wide[2] = {static_cast<wchar_t>(c), 0};
      words += unit == 1 ? std::string(1, static_cast<char>(c)) : narrow(wide);
    }
    at_ += count * unit;
    show(entry, words);
    return true;
  }

  /// One unit of a text that stands here in units of so many bytes.
  [[nodiscard]] std::uint64_t unitAt(std::uint64_t index, std::size_t bytes) const {
    const std::uint64_t type = bytes == 1   ? NVTX_PAYLOAD_ENTRY_TYPE_UINT8
                               : bytes == 2 ? NVTX_PAYLOAD_ENTRY_TYPE_UINT16
                                            : NVTX_PAYLOAD_ENTRY_TYPE_UINT32;
    return readNumber(type, data_ + at_ + index * bytes);
  }

  void show(const SchemaEntry& entry, std::string_view words) {
    if ((entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE) != 0) {
      out_.message = words;
      return;
    }
    label(entry);
    out_.text += words;
  }

  bool opaque(const Schema& schema, const SchemaEntry& entry) {
    align(sizeof(void*), schema);
    if (!has(sizeof(void*))) return false;
    label(entry);
    appendNumber(out_.text, NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS,
                 readNumber(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, data_ + at_));
    at_ += sizeof(void*);
    return true;
  }

  const Domain& domain_;
  std::span<const nvtxPayloadData_t> all_;
  const unsigned char* data_;
  std::size_t size_;
  Payloads& out_;
  std::size_t at_ = 0;
};

void takePlanned(const Schema& schema, const unsigned char* data, Payloads& out) {
  out.plan = &schema.plan;
  out.valueCount = schema.entries.size();
  for (std::size_t i = 0; i < out.valueCount; ++i) {
    const auto& entry = schema.entries[i];
    std::uint64_t value = readNumber(entry.type, data + entry.offset);
    if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE && value != 0) {
      const auto* registered = reinterpret_cast<const RegisteredText*>(value);
      value = registered->text();
      if (out.textCount < std::size(out.texts)) out.texts[out.textCount++] = registered;
    }
    out.values[i] = value;
  }
}

void showSize(Payloads& out, std::size_t size) {
  if (!out.text.empty()) out.text += ' ';
  out.text += "payload of ";
  appendNumber(out.text, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, size);
  out.text += " bytes";
}

void readPredefined(std::uint64_t type, const unsigned char* data, std::size_t size,
                    Payloads& out) {
  if (isString(type) && charSize(type) == 1) {
    if (!out.text.empty()) out.text += ' ';
    out.text += beginningOf(reinterpret_cast<const char*>(data), size);
  } else if (const auto bytes = sizeOfType(type); bytes != 0 && bytes <= size) {
    if (!out.text.empty()) out.text += ' ';
    appendNumberAt(out.text, type, data);
  } else {
    showSize(out, size);
  }
}

}  // namespace

const Schema* plannedSchema(const Domain& domain, const nvtxPayloadData_t* payloads,
                            std::size_t count) {
  if (count != 1 || payloads == nullptr || payloads->payload == nullptr) return nullptr;
  const auto* schema = findSchema(domain, payloads->schemaId);
  if (schema == nullptr || schema->plan.kind() == prof::NvtxPlan::Kind::None) return nullptr;
  return payloads->size >= schema->size ? schema : nullptr;  // SIZE_MAX: as the schema gives it
}

void readPayloads(const Domain& domain, const nvtxPayloadData_t* payloads, std::size_t count,
                  Payloads& out) {
  for (std::size_t i = 0; payloads != nullptr && i < count && i < kMaxElements; ++i) {
    const auto* data = static_cast<const unsigned char*>(payloads[i].payload);
    const auto id = payloads[i].schemaId;
    if (data == nullptr || id == NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED) continue;
    const auto* schema = findSchema(domain, id);
    if (schema == nullptr) {
      readPredefined(id, data, payloads[i].size, out);
      continue;
    }
    std::size_t size = payloads[i].size;
    if (size == SIZE_MAX) size = schema->size;
    if (schema->fixed && schema->plan.kind() != prof::NvtxPlan::Kind::None &&
        size >= schema->size) {
      takePlanned(*schema, data, out);
    } else if (!Walk(domain, {payloads, count}, data, size, out).schema(*schema, 0)) {
      showSize(out, size);
    }
  }
  if (out.text.size() > kMaxText)
    out.text.resize(completeLength(std::string_view(out.text).substr(0, kMaxText)));
}

}  // namespace lacuna::collector::nvtx
