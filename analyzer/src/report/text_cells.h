// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/text_table.h"

/// Texts in columns of a terminal.
namespace lacuna::analyzer {

/// The beginning of a text, at most so wide and at least a character. It ends between two parts of
/// a name where one ends behind the share `least` of the room.
std::string_view firstParts(std::string_view text, int width, double least);
/// At most `width` columns on one line, with … where something is left out. Not of styled text.
std::string shortened(std::string_view name, int width);
/// The same with … at the front. It begins between two parts where one begins in the first quarter
/// of the room.
std::string shortenedInFront(std::string_view name, int width);
std::string padded(std::string_view text, int width);
/// A text in lines of so many columns, each with its newline. The first one begins after `indent`
/// blanks.
std::string paragraph(std::string_view text, int indent, int hanging, int width);
/// Names in the rows of a table, each padded. Where only a common beginning would be left of
/// several, most of that part is left out: "vectorized…CUDAFunctor_add<float>, …".
std::vector<std::string> paddedNames(const std::vector<std::string_view>& names, int width);

}  // namespace lacuna::analyzer
