// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "formats/kernel_name.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::size_t endOfWord(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), isWord) -
                                  text.begin());
}

}  // namespace

std::string withoutScopes(std::string_view signature) {
  const bool isFunction =
      signature.starts_with("void ") || signature.find('<') != std::string_view::npos;
  if (!isFunction || signature.find("::") == std::string_view::npos) return std::string(signature);
  std::string out;
  int depth = 0;
  std::string_view rest = signature;
  if (rest.starts_with("void ")) rest.remove_prefix(5);
  while (!rest.empty()) {
    const bool isAnonymous = rest.starts_with(kAnonymous);
    const std::size_t word = isAnonymous ? kAnonymous.size() : endOfWord(rest);
    if (word > 0) {
      const bool isScope = rest.substr(word).starts_with("::");
      if (!isScope) out += rest.substr(0, word);
      rest.remove_prefix(word + (isScope ? 2 : 0));
      continue;
    }
    if (rest[0] == '(' && depth == 0) break;
    depth += rest[0] == '<' || rest[0] == '(' ? 1 : rest[0] == '>' || rest[0] == ')' ? -1 : 0;
    const bool isGap = rest[0] == ' ' && rest.starts_with(" >");
    if (!isGap) out += rest[0];
    rest.remove_prefix(1);
  }
  return out.empty() ? std::string(signature) : out;
}

bool isCommunicationKernel(std::string_view name) {
  for (const std::string_view library :
       {"nccl", "rccl", "gloo", "oneccl", "cross_device_reduce", "multimem_all"}) {
    if (containsAnyCase(name, library)) return true;
  }
  const std::initializer_list<std::string_view> kBegins{
      "allreduce",      "all_reduce", "allgather",  "all_gather", "reducescatter",
      "reduce_scatter", "alltoall",   "all_to_all", "comm."};
  return std::any_of(kBegins.begin(), kBegins.end(), [&](std::string_view begin) {
    return findAnyCase(name.substr(0, begin.size()), begin) == 0;
  });
}

bool beginsCommunication(std::string_view name) {
  return contains(name, "nccl") || contains(name, "c10d::") || contains(name, "allreduce");
}

std::string_view withoutLibrary(std::string_view kernel) {
  for (const std::string_view prefix : {"ncclKernel_", "ncclDevKernel_"}) {
    if (kernel.starts_with(prefix)) return kernel.substr(prefix.size());
  }
  return kernel;
}

}  // namespace lacuna::analyzer
