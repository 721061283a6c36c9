// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "python/layout.h"
#include "python/memory.h"

namespace lacuna::collector::python {

/// The text of a str object as UTF-8, at most `mostCharacters` of it. Nothing where no str can be
/// read there.
std::optional<std::string> readText(Memory& memory, const Layout& layout, std::uint64_t object,
                                    std::size_t mostCharacters);

/// The content of a bytes object. Nothing where none can be read there, and where it is longer than
/// that.
std::optional<std::vector<std::byte>> readBytes(Memory& memory, const Layout& layout,
                                                std::uint64_t object, std::size_t mostBytes);

}  // namespace lacuna::collector::python
