// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

struct sqlite3;

namespace lacuna::analyzer {

/// " (the first damage is on page 12, from byte 45056)", as SQLite's own check of the database
/// finds it: its errors name no place. Empty where it finds none in some time, and of a database
/// that is too large to be read once more.
std::string firstDamage(sqlite3* db);

}  // namespace lacuna::analyzer
