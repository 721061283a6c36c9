// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lacuna::analyzer {

/// Every finding that there is, with its kind, causes, numbers and meaning: for a terminal, and as JSON.
std::string findingListText();
std::string findingListJson();
/// The same as the tables of docs/analyses/findings.md.
std::string findingTables();

}  // namespace lacuna::analyzer
