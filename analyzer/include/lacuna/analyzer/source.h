// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "lacuna/prof/result.h"

namespace lacuna::analyzer {

/// What the first bytes of a file (decompressed) say it is. Fails where there are none to be had, and on a compressed
/// .lcn, which is read in any order.
enum class SourceKind { Empty, Lcn, Json, Sqlite, Perfetto, Pickle, Unknown };
/// Reads some bytes of the file; fails where it cannot be read.
prof::Result<SourceKind> sniff(const std::filesystem::path& path);

/// The kind in words for people.
std::string_view describe(SourceKind kind);

}  // namespace lacuna::analyzer
