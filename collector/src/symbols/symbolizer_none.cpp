// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "symbols/symbolizer.h"

namespace lacuna::collector::symbols {

struct Symbolizer::Impl {};
Symbolizer::Symbolizer(int, const std::string&) {}
Symbolizer::~Symbolizer() = default;
bool Symbolizer::available() {
  return false;
}
Symbol Symbolizer::find(std::uint64_t fileOffset) {
  return {fileOffset, {}, {}, 0};
}

}  // namespace lacuna::collector::symbols
