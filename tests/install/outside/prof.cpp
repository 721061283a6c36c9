// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "lacuna/prof/reader.h"
#include "lacuna/prof/writer.h"

using lacuna::prof::Range;

static int fail(const lacuna::prof::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

int main() {
  auto writer = lacuna::prof::Writer::create("outside.lcn");
  if (!writer.ok()) return fail(writer.error());
  Range range;
  range.startNs = 10;
  range.durNs = 5;
  range.name = writer->intern("forward");
  writer->append(range);
  if (const auto status = writer->finish(); !status.ok()) return fail(status.error());

  const auto reader = lacuna::prof::Reader::open("outside.lcn");
  if (!reader.ok()) return fail(reader.error());
  const auto durations = reader->column<&Range::durNs>();
  if (!durations.ok()) return fail(durations.error());
  std::printf("a trace of %zu range\n", (*durations).size());
  return (*durations).size() == 1 && (*durations)[0] == 5 ? 0 : 1;
}
