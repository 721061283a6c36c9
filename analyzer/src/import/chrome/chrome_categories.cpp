// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/chrome_categories.h"

#include "import/chrome/same_text.h"

namespace lacuna::analyzer {

const ChromeCategories::Category& ChromeCategories::of(std::string_view cat) {
  const auto isIt = [&](std::uint32_t number) { return isSame(categories_[number].token, cat); };
  if (const std::uint32_t* recent = recent_.find(isIt)) return categories_[*recent];
  static const std::unordered_map<std::string_view, Kind> kKinds = {
      {"\"gpu_user_annotation\"", Kind::DeviceRange},
      {"\"cuda_runtime\"", Kind::Runtime},
      {"\"hip_runtime\"", Kind::Runtime},
      {"\"privateuse1_runtime\"", Kind::Runtime},
      {"\"xpu_runtime\"", Kind::Runtime},
      {"\"cuda_driver\"", Kind::Driver},
      {"\"privateuse1_driver\"", Kind::Driver},
      {"\"xpu_driver\"", Kind::Driver},
      {"\"kernel\"", Kind::Kernel},
      {"\"gpu_memcpy\"", Kind::Memcpy},
      {"\"gpu_memset\"", Kind::Memset},
      {"\"cuda_sync\"", Kind::Sync},
      {"\"overhead\"", Kind::Overhead},
      {"\"Kernel\"", Kind::Kernel},
      {"\"Runtime\"", Kind::Runtime},
      {"\"Memcpy\"", Kind::Memcpy},
      {"\"Memset\"", Kind::Memset}};
  const auto [at, isNew] =
      numbers_.try_emplace(std::string(cat), static_cast<std::uint32_t>(categories_.size()));
  recent_.add(at->second);
  if (isNew) {
    const auto kind = kKinds.find(cat);
    categories_.push_back(
        {at->first, kind == kKinds.end() ? Kind::Range : kind->second, texts_.textId(cat)});
  }
  return categories_[at->second];
}

}  // namespace lacuna::analyzer
