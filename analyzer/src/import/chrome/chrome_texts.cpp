// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/chrome_texts.h"

#include <algorithm>

#include "formats/json_text.h"

namespace lacuna::analyzer {

prof::StringId ChromeTexts::textId(std::string_view token) {
  return token.empty() ? prof::StringId() : strings_.intern(json::textOf(token, scratch_));
}

prof::StringId ChromeTexts::jsonId(std::string_view token) {
  const prof::StringId known = strings_.find(token);
  if (known.value < isJson_.size() && isJson_[known.value]) return known;
  std::string sound;
  json::appendChecked(sound, token);
  const prof::StringId id = strings_.intern(sound);
  isJson_.resize(std::max<std::size_t>(isJson_.size(), id.value + 1));
  isJson_[id.value] = true;
  return id;
}

}  // namespace lacuna::analyzer
