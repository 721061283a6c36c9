// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

struct sqlite3;

namespace lacuna::analyzer {

/// The longest text or blob that a statement may make.
inline constexpr int kMostSqlBytes = 64 << 20;

/// Closes what SQLite offers beyond reading: extensions, tokenizers given by address, triggers,
/// views, functions with effects that a schema calls, direct writes to internal tables. Also bounds
/// the size of values and statements. To be called before the first statement.
///
/// SQLite's memory is bounded too: to kMostSqlMemory, for the whole process, unless the program has
/// set a limit of its own (sqlite3_hard_heap_limit64()).
void hardenSqlite(sqlite3* db);
inline constexpr long long kMostSqlMemory = 1LL << 30;

}  // namespace lacuna::analyzer
