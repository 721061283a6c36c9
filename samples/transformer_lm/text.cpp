// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "transformer_lm/text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <sstream>

namespace lacuna::samples {

namespace {

template <std::size_t N>
const char* pick(const std::array<const char*, N>& words, rt::SampleRandom& random) {
  return words[random.below(N)];
}

std::string thing(rt::SampleRandom& random) {
  static constexpr std::array kKinds{"small ", "green ", "old ", "quiet ", "", "", ""};
  static constexpr std::array kThings{"queue", "kernel", "tensor", "loader",
                                      "gap",   "thread", "step",   "batch"};
  return std::string("the ") + pick(kKinds, random) + pick(kThings, random);
}

}  // namespace

std::string syntheticText(std::size_t bytes, std::uint64_t seed) {
  static constexpr std::array kDeeds{"waits for", "feeds", "follows", "hides", "measures", "wakes"};
  static constexpr std::array kEnds{".\n", ", again.\n", ", and ", ", but "};
  rt::SampleRandom random(seed);
  std::string text;
  while (text.size() < bytes)
    text += thing(random) + " " + pick(kDeeds, random) + " " + thing(random) + pick(kEnds, random);
  return text;
}

std::string readText(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || text.str().empty()) throw rt::Error(file + ": cannot be read as a text, or is empty");
  return text.str();
}

Encoded encode(const std::string& text) {
  Encoded out;
  out.alphabet = text;
  std::sort(out.alphabet.begin(), out.alphabet.end());
  out.alphabet.erase(std::unique(out.alphabet.begin(), out.alphabet.end()), out.alphabet.end());
  std::array<std::int64_t, 256> number{};
  for (std::size_t i = 0; i < out.alphabet.size(); ++i)
    number[static_cast<unsigned char>(out.alphabet[i])] = static_cast<std::int64_t>(i);
  out.tokens.reserve(text.size());
  for (const char c : text) out.tokens.push_back(number[static_cast<unsigned char>(c)]);
  return out;
}

std::shared_ptr<const rt::Dataset> windows(std::shared_ptr<const Encoded> text,
                                           std::int64_t length) {
  const auto count = static_cast<std::int64_t>(text->tokens.size());
  if (count <= length)
    throw rt::Error("the text has " + std::to_string(count) + " characters; a context of " +
                    std::to_string(length) + " needs more");
  return std::make_shared<rt::FunctionDataset>(
      static_cast<std::size_t>(count - length),
      [text = std::move(text), length](std::size_t index, rt::WorkerContext& context) {
        const rt::LoaderScope stage = context.stage(rt::LoaderStage::Fetch);
        rt::Example out{rt::emptyHost({length}, rt::DType::I64),
                        rt::emptyHost({length}, rt::DType::I64)};
        const auto bytes = static_cast<std::size_t>(length) * sizeof(std::int64_t);
        std::memcpy(out[0].data(), text->tokens.data() + index, bytes);
        std::memcpy(out[1].data(), text->tokens.data() + index + 1, bytes);
        return out;
      });
}

}  // namespace lacuna::samples
