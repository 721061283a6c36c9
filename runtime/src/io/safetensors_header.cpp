// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors_header.h"

#include <simdjson.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "lacuna/runtime/error.h"

namespace lacuna::rt {
namespace {

/// One header; every complaint names its file.
class HeaderParser {
 public:
  HeaderParser(const std::string& file, std::uint64_t dataBytes)
      : file_(file), dataBytes_(dataBytes) {}

  SafetensorsHeader parse(const std::string& json) {
    simdjson::dom::parser parser;
    simdjson::dom::object root;
    if (const auto error = parser.parse(json).get(root))
      refuse(std::string("its header is not a JSON object: ") + simdjson::error_message(error));
    for (const auto [key, value] : root) {
      if (key == "__metadata__") {
        parseMetadata(value);
      } else {
        header_.tensors.push_back(parseTensor(std::string(key), value));
      }
    }
    order();
    return std::move(header_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { refuseSafetensors(file_, why); }

  void parseMetadata(simdjson::dom::element value) {
    simdjson::dom::object object;
    if (value.get(object)) refuse("its __metadata__ is not an object");
    for (const auto [key, text] : object) {
      std::string_view string;
      if (text.get(string)) refuse("its __metadata__ holds something else than texts");
      if (!header_.metadata.emplace(key, string).second)
        refuse("its __metadata__ has " + std::string(key) + " twice");
    }
  }

  SafetensorsEntry parseTensor(std::string name, simdjson::dom::element value) const {
    SafetensorsEntry tensor;
    tensor.name = std::move(name);
    std::string_view dtype;
    simdjson::dom::array dims;
    simdjson::dom::array offsets;
    if (value["dtype"].get(dtype) || value["shape"].get(dims) || value["data_offsets"].get(offsets))
      refuse("tensor " + tensor.name + " lacks dtype, shape or data_offsets");
    tensor.dtype = parseDType(tensor.name, dtype);
    const std::uint64_t bytes = parseShape(tensor, dims);
    if (offsets.size() != 2 || offsets.at(0).get(tensor.begin) || offsets.at(1).get(tensor.end) ||
        tensor.end < tensor.begin || tensor.end > dataBytes_) {
      refuse("tensor " + tensor.name + " lies outside the file; the file is truncated or damaged");
    }
    if (tensor.end - tensor.begin != bytes)
      refuse("tensor " + tensor.name + " has a size that does not fit its shape");
    return tensor;
  }

  [[nodiscard]] DType parseDType(const std::string& name, std::string_view text) const {
    for (int i = 0; i < kDTypeCount; ++i) {
      if (text == kSafetensorsTypes[i]) return static_cast<DType>(i);
    }
    refuse("tensor " + name + " has the type " + std::string(text) + ", which is not supported");
  }

  std::uint64_t parseShape(SafetensorsEntry& tensor, simdjson::dom::array dims) const {
    if (dims.size() > static_cast<std::size_t>(kMaxRank))
      refuse("tensor " + tensor.name + " has too many dimensions");
    std::uint64_t bytes = itemSize(tensor.dtype);
    for (const auto dim : dims) {
      std::uint64_t size = 0;
      // A tensor with a size of zero takes no bytes, but the other sizes must be possible all the
      // same.
      if (dim.get(size) ||
          __builtin_mul_overflow(bytes, std::max<std::uint64_t>(size, 1), &bytes) ||
          bytes > INT64_MAX)
        refuse("tensor " + tensor.name + " has an impossible shape");
      tensor.shape.push(static_cast<std::int64_t>(size));
    }
    return tensor.shape.numel() == 0 ? 0 : bytes;
  }

  /// By their bytes; each byte is one tensor's.
  void order() {
    std::sort(header_.tensors.begin(), header_.tensors.end(),
              [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
                return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
              });
    std::uint64_t expected = 0;
    std::set<std::string_view> names;
    for (const SafetensorsEntry& tensor : header_.tensors) {
      if (tensor.begin != expected)
        refuse("tensor " + tensor.name + " overlaps another one or leaves a hole before it");
      expected = tensor.end;
      if (!names.insert(tensor.name).second) refuse("tensor " + tensor.name + " is there twice");
    }
    if (expected != dataBytes_) {
      refuse("it holds " + std::to_string(dataBytes_) +
             " bytes of tensors, but its header describes " + std::to_string(expected));
    }
  }

  const std::string& file_;
  std::uint64_t dataBytes_;
  SafetensorsHeader header_;
};

}  // namespace

void refuseSafetensors(const std::string& file, const std::string& why) {
  fail("loadTensors", file + ": " + why);
}

std::uint64_t safetensorsHeaderBytes(const std::string& file,
                                     const std::array<unsigned char, kSafetensorsLengthBytes>& raw,
                                     std::uint64_t fileBytes) {
  std::uint64_t bytes = 0;
  for (std::size_t i = raw.size(); i-- > 0;) bytes = bytes << 8 | raw[i];
  if (fileBytes < raw.size() || bytes > kMaxSafetensorsHeader || bytes > fileBytes - raw.size()) {
    refuseSafetensors(file, "its header should have " + std::to_string(bytes) +
                                " bytes; it is not a safetensors file, or truncated");
  }
  return bytes;
}

SafetensorsHeader parseSafetensorsHeader(const std::string& file, const std::string& json,
                                         std::uint64_t dataBytes) {
  return HeaderParser(file, dataBytes).parse(json);
}

}  // namespace lacuna::rt
