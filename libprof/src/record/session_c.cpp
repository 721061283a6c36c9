// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/session_c.h"

#include <mutex>
#include <optional>
#include <string>

#include "lacuna/prof/session.h"

namespace lacuna::prof {
namespace {

std::mutex gMutex;
std::optional<Session> gSession;  // under the mutex
thread_local std::string tError;

int answer(const Status& status) {
  if (status.ok()) return 0;
  tError = status.error().message;
  return -1;
}

int noSession() {
  return answer(Error{"there is no session; start one with lacunaSessionStart"});
}

}  // namespace
}  // namespace lacuna::prof

using namespace lacuna::prof;

extern "C" {

int lacunaSessionStart(const char* file, const LacunaSessionOptions* options) {
  if (file == nullptr || *file == 0)
    return answer(Error{"a session needs the name of a file to record into"});
  Session::Options wanted;
  if (options != nullptr) {
    if (options->poolBytes != 0) wanted.recording.poolBytes = options->poolBytes;
    if (options->maxPoolBytes != 0) wanted.recording.maxPoolBytes = options->maxPoolBytes;
    wanted.recording.flightRecorder = options->flightRecorder != 0;
  }
  const std::lock_guard lock(gMutex);
  Result<Session> session = Session::start(file, wanted);
  if (!session.ok()) return answer(session.status());
  gSession.emplace(std::move(*session));
  return 0;
}

int lacunaSessionFlush(void) {
  const std::lock_guard lock(gMutex);
  return gSession ? answer(gSession->flush()) : noSession();
}

int lacunaSessionStop(void) {
  const std::lock_guard lock(gMutex);
  if (!gSession) return noSession();
  const int result = answer(gSession->stop());
  gSession.reset();
  return result;
}

const char* lacunaSessionError(void) {
  return tError.c_str();
}

}  // extern "C"
