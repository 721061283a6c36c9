// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/calibration_option.h"

#include <fmt/format.h>

namespace lacuna::cli {

void addCalibration(Command& command, std::string& path) {
  command
      .option("--calibration", path,
              fmt::format("gains of kernels from {}, as `lacuna calibrate` measured them (default: "
                          "LACUNA_CALIBRATION, else built in)",
                          fmt::join(analyzer::Calibration::knobs(), ", ")))
      .typeName("FILE")
      .notEmpty();
}

prof::Result<std::shared_ptr<const analyzer::Calibration>> calibrationFrom(
    const std::string& path) {
  if (path.empty()) return analyzer::calibrationOfEnvironment();
  auto read = analyzer::Calibration::read(path);
  if (!read) return read.error();
  return std::make_shared<const analyzer::Calibration>(*std::move(read));
}

}  // namespace lacuna::cli
