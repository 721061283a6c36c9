// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lacuna::collector {

/// Where libcupti is looked for, in this order, by the recorder and by doctor: what the loader knows, then where CUDA's
/// installer puts it without telling the loader.
inline constexpr const char* kCuptiPlaces[] = {"libcupti.so.13", "libcupti.so.12",
                                               "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                               "/usr/local/cuda/lib64/libcupti.so"};

}  // namespace lacuna::collector
