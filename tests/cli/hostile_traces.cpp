// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes traces whose texts do harm into a folder: one as our recordings are, one as if read from
// Kineto's JSON.
#include <cstdio>
#include <filesystem>

#include "lacuna/analyzer/files.h"
#include "support/random_store.h"

using namespace lacuna;

namespace {

bool write(const std::filesystem::path& file, unsigned seed, bool isKineto) {
  test::RandomTexts texts = test::hostileTexts();
  if (isKineto) texts.environment.emplace_back("source.format", "kineto");
  const auto status =
      analyzer::exportTrace(*test::randomStore(seed, 80, texts), file, analyzer::Format::Lcn);
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder(argv[1]);
  const bool complete = write(folder / "own.lcn", 1, false) &&
                        write(folder / "own2.lcn", 2, false) &&
                        write(folder / "kineto.lcn", 3, true);
  return complete ? 0 : 1;
}
