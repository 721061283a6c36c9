// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "lacuna/prof/result.h"

struct sqlite3;

namespace lacuna::analyzer {

/// True when a folder for temporary files, which others use too, has room for so many bytes.
bool hasRoom(const std::filesystem::path& folder, std::uintmax_t bytes);

/// Opens a database for reading, with the changes in a write-ahead log beside it. No file appears
/// there: without changes in the log the database is taken for unchanging, with some it is copied
/// into temporary files. `db` is to be closed by the caller in any case.
prof::Status openDatabase(const std::filesystem::path& path, sqlite3** db);

}  // namespace lacuna::analyzer
