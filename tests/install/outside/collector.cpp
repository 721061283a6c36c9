// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <lacuna/collector/recover.h>
#include <lacuna/collector/run.h>
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
  const bool recorded = stopped && session->stats().rows > 0;
  // Something to link and something to run of the supervisor, which needs more libraries than a
  // session does.
  const auto refused = lacuna::collector::recover("/nonexistent/folder", "recovered.lcn");
  std::printf("%s\n",
              refused.ok() ? "a missing folder was recovered" : refused.error().message.c_str());
  auto* volatile supervise = &lacuna::collector::run;
  return recorded && !refused.ok() && supervise != nullptr ? 0 : 1;
}
