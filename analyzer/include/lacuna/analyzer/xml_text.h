// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lacuna::analyzer {

/// A text as one line of XML 1.0 or HTML, within an element or an attribute in double quotes. Every parser gives back
/// oneLine(text), but for the characters that XML cannot hold in any form: these become escapes such as \ufffe, too.
std::string xmlText(std::string_view text);

}  // namespace lacuna::analyzer
