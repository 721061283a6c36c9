// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Texts in the formats that results and exports are written in for other programs.
namespace lacuna::analyzer {

/// A text as a JSON string, with its quotes. Bytes that are no UTF-8 become U+FFFD; what a terminal obeys is escaped.
std::string jsonText(std::string_view text);

/// Appends a number, or what stands for none, as a field of a CSV file.
void appendCsvNumber(std::string& out, std::string_view number);
/// Appends a text as a field of a CSV file: quoted where a comma, a quote or a line end would break it. Spreadsheets
/// take a field for a formula that begins with = + - @, a tab or a line end: such a text gets an apostrophe in front,
/// unless it is a number.
void appendCsvText(std::string& out, std::string_view text);

}  // namespace lacuna::analyzer
