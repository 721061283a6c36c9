// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lacuna::analyzer {

/// A C++ signature without its scopes, result and arguments: of "void a::b::sum_kernel<4,
/// c::Add<float>>(int, float*)" the part that distinguishes it, "sum_kernel<4, Add<float>>". Other
/// names are left as they are.
std::string withoutScopes(std::string_view signature);

/// True when a kernel of that name moves data between devices. docs/analyses/names.md.
bool isCommunicationKernel(std::string_view name);
/// True when a range or call of the host of that name hands such work over.
bool beginsCommunication(std::string_view name);
/// A collective's kernel without what all of NCCL's kernels are called first.
std::string_view withoutLibrary(std::string_view kernel);

}  // namespace lacuna::analyzer
