// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <lacuna/collector/session.h>
#include <lacuna/prof/prof.h>

#include <cstdio>

int main() {
  auto session = lacuna::collector::Session::start("collector.lcn");
  if (!session.ok()) {
    std::fprintf(stderr, "%s\n", session.error().message.c_str());
    return 1;
  }
  lacunaRangePush(lacunaName("work"));
  lacunaRangePop();
  const bool stopped = session->stop().ok();
  return stopped && session->stats().rows > 0 ? 0 : 1;
}
