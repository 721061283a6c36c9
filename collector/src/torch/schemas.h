// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstdint>

#include "core/runtime_payloads.h"

/// The payloads of docs/nvtx-schema.md that PyTorch's events carry.
namespace lacuna::collector::torch {

// Besides those of runtime_payloads.h; the mapper takes fields by name.
struct StepPayload {
  std::uint64_t index, samples;
};
struct LoaderPayload {
  std::uint64_t batch, bytes;
  std::uint32_t loader;
  std::int32_t worker;
};
struct HelloPayload {
  std::uint32_t version, pid;
};
struct QueuePayload {
  StringHandle name;
  std::uint64_t memoryBytes;
  std::uint32_t queue, device, deviceKind, thread, cores, reserved;
};
struct KnobPayload {
  StringHandle name, value;
};

template <class Payload>
inline constexpr std::uint64_t kSchemaId = 0;
template <>
inline constexpr std::uint64_t kSchemaId<OperatorPayload> = 0x1000001;
template <>
inline constexpr std::uint64_t kSchemaId<ExecutionPayload> = 0x1000002;
template <>
inline constexpr std::uint64_t kSchemaId<MemoryPayload> = 0x1000003;
template <>
inline constexpr std::uint64_t kSchemaId<StepPayload> = 0x1000004;
template <>
inline constexpr std::uint64_t kSchemaId<LoaderPayload> = 0x1000005;
template <>
inline constexpr std::uint64_t kSchemaId<HelloPayload> = 0x1000007;
template <>
inline constexpr std::uint64_t kSchemaId<QueuePayload> = 0x1000008;
template <>
inline constexpr std::uint64_t kSchemaId<KnobPayload> = 0x1000009;

/// Announces the payloads to whoever listens to the domain.
void registerSchemas(nvtxDomainHandle_t domain);

}  // namespace lacuna::collector::torch
