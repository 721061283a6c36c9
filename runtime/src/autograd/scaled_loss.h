// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lacuna::rt {

/// True while this thread runs a backward that came through GradScaler::scale(): its gradients are
/// multiples.
extern thread_local constinit bool tLossScaled;

}  // namespace lacuna::rt
