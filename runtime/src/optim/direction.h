// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instrument/observer.h"

namespace lacuna::rt::optim {

/// While it lives, operators of this thread are those of an optimizer.
class OptimizerDirection {
 public:
  OptimizerDirection() : before_(instrument::tState.direction) {
    instrument::tState.direction = instrument::Direction::Optimizer;
  }
  ~OptimizerDirection() { instrument::tState.direction = before_; }
  OptimizerDirection(const OptimizerDirection&) = delete;
  OptimizerDirection& operator=(const OptimizerDirection&) = delete;

 private:
  instrument::Direction before_;
};

}  // namespace lacuna::rt::optim
