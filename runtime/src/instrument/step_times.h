// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/runtime/tensor.h"

/// Times the steps of a program that is not recorded, for `lacuna tune`: LACUNA_STEP_TIMES names a
/// file, and LACUNA_STEPS ends the program after so many steps. The file's lines are those of the
/// start-up hook of Python programs.
namespace lacuna::rt::instrument {

/// Most programs are not timed.
bool timesSteps();
void stepBegins();
/// May end the program.
void stepEnds();
/// A backward pass begins at this tensor: now and then its value is kept.
void backwardBegins(const Tensor& root);

}  // namespace lacuna::rt::instrument
