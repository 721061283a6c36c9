// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "format/encoding_name.h"

#include <fmt/format.h>

namespace lacuna::prof::format {
namespace {

std::string_view columnName(const BlockHeader& block, std::uint8_t column) {
  return column < block.sections.size() ? block.sections[column].name : std::string_view("?");
}

std::string baseName(const BlockHeader& block, const Encoding& encoding) {
  switch (encoding.base) {
    case Base::None:
      return encoding.contextColumn == kNoColumn ? "offset" : "";
    case Base::Previous:
      return "delta";
    case Base::PreviousEnd:
      return "gap";
    case Base::Column:
      return fmt::format("minus {}", columnName(block, encoding.baseColumn));
  }
  return {};
}

}  // namespace

std::string encodingName(const BlockHeader& block, const Section& section) {
  const Encoding& encoding = section.encoding;
  if (!section.known) return "unknown";
  if (encoding.scheme == Scheme::Blob) return "blob";
  if (encoding.scheme == Scheme::Constant) return "constant";
  if (encoding.scheme == Scheme::Dictionary) return "dictionary";
  std::string name = baseName(block, encoding);
  if (encoding.groupColumn != kNoColumn)
    name += fmt::format(" within {}", columnName(block, encoding.groupColumn));
  if (encoding.contextColumn != kNoColumn) {
    name +=
        fmt::format("{}by {}", name.empty() ? "" : ", ", columnName(block, encoding.contextColumn));
  }
  return name;
}

}  // namespace lacuna::prof::format
