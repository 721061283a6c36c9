// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/objects.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace lacuna::collector::python {
namespace {

void putUtf8(std::string& into, std::uint32_t character) {
  constexpr std::uint32_t kReplacement = 0xfffd;
  // Python keeps bytes of a file's name that are no UTF-8 as half surrogates.
  if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) character = kReplacement;
  const auto tail = [&](unsigned shift) {
    into += static_cast<char>(0x80 | (character >> shift & 0x3f));
  };
  if (character < 0x80) {
    into += static_cast<char>(character);
  } else if (character < 0x800) {
    into += static_cast<char>(0xc0 | character >> 6);
    tail(0);
  } else if (character < 0x10000) {
    into += static_cast<char>(0xe0 | character >> 12);
    tail(6);
    tail(0);
  } else {
    into += static_cast<char>(0xf0 | character >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::uint32_t characterAt(const std::vector<std::byte>& data, std::size_t index,
                          std::size_t width) {
  std::uint32_t character = 0;
  // As the machine orders bytes, which is that of the process, too.
  if (width == 1) return std::to_integer<std::uint8_t>(data[index]);
  if (width == 2) {
    std::uint16_t half = 0;
    std::memcpy(&half, data.data() + index * width, width);
    return half;
  }
  std::memcpy(&character, data.data() + index * width, width);
  return character;
}

}  // namespace

std::optional<std::string> readText(Memory& memory, const Layout& layout, std::uint64_t object,
                                    std::size_t mostCharacters) {
  std::int64_t length = 0;
  std::uint32_t state = 0;
  const std::array pieces{
      Memory::Piece{object + layout.text.length, std::as_writable_bytes(std::span(&length, 1))},
      Memory::Piece{object + layout.text.state, std::as_writable_bytes(std::span(&state, 1))},
  };
  if (memory.read(pieces) != pieces.size() || length < 0) return std::nullopt;
  const std::size_t width = state >> layout.text.kindShift & 7;
  const bool compact = (state >> (layout.text.kindShift + 3) & 1) != 0;
  const bool ascii = (state >> (layout.text.kindShift + 4) & 1) != 0;
  if (!compact || (width != 1 && width != 2 && width != 4)) return std::nullopt;
  const std::size_t count = std::min(static_cast<std::size_t>(length), mostCharacters);
  std::vector<std::byte> data(count * width);
  if (count > 0 && !memory.read(object + (ascii ? layout.text.ascii : layout.text.wide), data))
    return std::nullopt;
  std::string text;
  text.reserve(count);
  for (std::size_t i = 0; i < count; ++i) putUtf8(text, characterAt(data, i, width));
  return text;
}

std::optional<std::vector<std::byte>> readBytes(Memory& memory, const Layout& layout,
                                                std::uint64_t object, std::size_t mostBytes) {
  std::int64_t size = 0;
  if (!memory.get(object + layout.bytes.size, size) || size < 0 ||
      static_cast<std::uint64_t>(size) > mostBytes) {
    return std::nullopt;
  }
  std::vector<std::byte> data(static_cast<std::size_t>(size));
  if (size > 0 && !memory.read(object + layout.bytes.data, data)) return std::nullopt;
  return data;
}

}  // namespace lacuna::collector::python
