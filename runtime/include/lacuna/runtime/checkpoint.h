// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "lacuna/runtime/grad_scaler.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/serialize.h"

/// Modules and optimizers in safetensors files. Loading checks the whole file first: a file that is
/// damaged, or belongs to another network or optimizer, throws Error and changes nothing.
namespace lacuna::rt {

/// Parameters and buffers by name, as handles (not copies). Throws where two tensors have the same
/// name.
[[nodiscard]] TensorMap stateOf(const nn::Module& module);
/// Copies values into the module's parameters and buffers. Names, shapes and types must be exactly
/// the module's; otherwise it throws, names what differs, and changes nothing.
void loadState(nn::Module& module, const TensorMap& state);

/// stateOf() as saveTensors() writes it: the file is replaced only when the new one is whole.
void saveModule(const std::filesystem::path& path, const nn::Module& module,
                const Metadata& metadata = {});
/// loadState() of such a file, with what that and loadTensors() throw. Returns what was saved as
/// metadata.
Metadata loadModule(const std::filesystem::path& path, nn::Module& module);

/// State tensors and masters, the rate, the number of steps and of each parameter's updates; and of
/// a scaler its factor and how long it has not changed. Parameters are identified by their order.
/// Loading throws, and changes nothing, where the kind of optimizer or the parameters are others,
/// or where a scaler is given and the file holds none.
void saveOptimizer(const std::filesystem::path& path, const optim::Optimizer& optimizer,
                   const optim::GradScaler* scaler = nullptr);
void loadOptimizer(const std::filesystem::path& path, optim::Optimizer& optimizer,
                   optim::GradScaler* scaler = nullptr);

}  // namespace lacuna::rt
