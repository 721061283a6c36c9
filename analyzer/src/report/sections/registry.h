// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyses/registry.h"
#include "report/section.h"

namespace lacuna::analyzer::sections {

#define LACUNA_SECTION_DECLARED(name) extern constinit const Section name;
LACUNA_REGISTRY(LACUNA_NOTHING, LACUNA_SECTION_DECLARED, LACUNA_SECTION_DECLARED)
#undef LACUNA_SECTION_DECLARED

}  // namespace lacuna::analyzer::sections
