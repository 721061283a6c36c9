// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/module_name.h"

#include <algorithm>
#include <cctype>

namespace lacuna::collector::python {
namespace {

std::string_view behind(std::string_view text, std::string_view part) {
  const auto at = text.rfind(part);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + part.size());
}

/// The part after ".../lib/python3.11/".
std::string_view inLibrary(std::string_view file) {
  constexpr std::string_view kLibrary = "/lib/python3.";
  std::string_view rest = behind(file, kLibrary);
  std::size_t digits = 0;
  while (digits < rest.size() && std::isdigit(static_cast<unsigned char>(rest[digits])) != 0)
    ++digits;
  return digits > 0 && digits < rest.size() && rest[digits] == '/' ? rest.substr(digits + 1)
                                                                   : std::string_view();
}

}  // namespace

std::string moduleOf(std::string_view file) {
  constexpr std::string_view kFrozen = "<frozen ";
  if (file.starts_with(kFrozen) && file.ends_with(">")) {
    return std::string(file.substr(kFrozen.size(), file.size() - kFrozen.size() - 1));
  }
  if (file.starts_with("<")) return std::string(file);
  std::string_view path = behind(file, "/site-packages/");
  if (path.empty()) path = behind(file, "/dist-packages/");
  if (path.empty()) path = inLibrary(file);
  if (path.empty()) path = file.substr(file.rfind('/') + 1);
  if (path.ends_with(".py")) path.remove_suffix(3);
  if (path.ends_with("/__init__")) path.remove_suffix(std::string_view("/__init__").size());
  std::string name(path);
  std::ranges::replace(name, '/', '.');
  return name;
}

}  // namespace lacuna::collector::python
