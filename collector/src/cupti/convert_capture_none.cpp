// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/capture.h"

namespace lacuna::collector {

prof::Result<CaptureReport> convertCapture(const std::filesystem::path& capture,
                                           const std::filesystem::path& /*output*/) {
  return prof::Error{capture.string() +
                     " is a raw CUPTI capture, and this lacuna was built without the CUDA "
                     "toolkit's headers. Remedy: build it where the toolkit is"};
}

}  // namespace lacuna::collector
