// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/in_process.h"

#include "lacuna/prof/prof.h"

namespace lacuna::collector::cupti {

void startCudaTimeline() {
  lacunaLog(1, lacunaName("lacuna"),
            lacunaName("no CUDA timeline: this build of Lacuna has no CUDA support. Remedy: build "
                       "it where the CUDA toolkit is installed"));
}

void stopCudaTimeline() {}

}  // namespace lacuna::collector::cupti
