// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration_option.h"

namespace lacuna::cli {

void addCalibration(Command& command, std::string& path) {
  command
      .option("--calibration", path,
              "what kernels gain from amp, autotune, fuse and loader.pin, as `lacuna calibrate` measured it (default: "
              "LACUNA_CALIBRATION, else built in)")
      .typeName("FILE")
      .notEmpty();
}

prof::Result<std::shared_ptr<const analyzer::Calibration>> calibrationFrom(const std::string& path) {
  if (path.empty()) return analyzer::calibrationOfEnvironment();
  auto read = analyzer::Calibration::read(path);
  if (!read) return read.error();
  return std::make_shared<const analyzer::Calibration>(*std::move(read));
}

}  // namespace lacuna::cli
