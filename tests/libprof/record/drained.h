// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "libprof/record/recorded.h"

namespace lacuna::prof {

/// A recording in files that this process has joined, with its drainer.
class DrainedTest : public RecordingTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(RecordingTest::SetUp());
    RecordingOptions options;
    options.sharedMemory = false;
    ASSERT_OK(createRecording(recordingDir(), options));
    ASSERT_EQ(lacunaAttach(recordingDir().c_str()), 0);
    auto drainer = Drainer::create(recordingDir(), trace());
    ASSERT_OK(drainer);
    drainer_ = std::move(*drainer);
  }
  /// Writes what was recorded, and saves the drainer's state.
  void flush() { ASSERT_OK(drainer_->flush()); }
  [[nodiscard]] std::filesystem::path recovered() const { return home_ / "recovered.lcn"; }

  std::optional<Drainer> drainer_;
};

}  // namespace lacuna::prof
