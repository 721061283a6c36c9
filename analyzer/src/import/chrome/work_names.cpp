// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/work_names.h"

#include <utility>

namespace lacuna::analyzer {

prof::CopyKind copyKindOf(std::string_view name) {
  using prof::CopyKind;
  static constexpr std::pair<std::string_view, CopyKind> kKinds[] = {
      {"HtoD", CopyKind::HostToDevice},
      {"DtoH", CopyKind::DeviceToHost},
      {"DtoD", CopyKind::DeviceToDevice},
      {"HtoH", CopyKind::HostToHost},
      {"PtoP", CopyKind::PeerToPeer},
      {"HtoA", CopyKind::HostToArray},
      {"AtoH", CopyKind::ArrayToHost},
      {"AtoA", CopyKind::ArrayToArray},
      {"AtoD", CopyKind::ArrayToDevice},
      {"DtoA", CopyKind::DeviceToArray},
      {"HostToDevice", CopyKind::HostToDevice},
      {"DeviceToHost", CopyKind::DeviceToHost},
      {"DeviceToDevice", CopyKind::DeviceToDevice}};
  for (const auto& [text, kind] : kKinds) {
    if (name.find(text) != std::string_view::npos) return kind;
  }
  return CopyKind::Unknown;
}

prof::MemoryKind memoryKindOf(std::string_view name) {
  using prof::MemoryKind;
  static constexpr std::pair<std::string_view, MemoryKind> kKinds[] = {
      {"Pageable", MemoryKind::Pageable},
      {"Pinned", MemoryKind::Pinned},
      {"Device Static", MemoryKind::DeviceStatic},
      {"Managed Static", MemoryKind::ManagedStatic},
      {"Device", MemoryKind::Device},
      {"Array", MemoryKind::Array},
      {"Managed", MemoryKind::Managed}};
  for (const auto& [text, kind] : kKinds) {
    if (name.find(text) != std::string_view::npos) return kind;
  }
  return MemoryKind::Unknown;
}

prof::SyncKind syncKindOf(std::string_view name) {
  using prof::SyncKind;
  if (name.find("Wait Event") != std::string_view::npos) return SyncKind::StreamWait;
  if (name.find("Event") != std::string_view::npos) return SyncKind::Event;
  if (name.find("Stream") != std::string_view::npos) return SyncKind::Stream;
  if (name.find("Context") != std::string_view::npos ||
      name.find("Device") != std::string_view::npos) {
    return SyncKind::Context;
  }
  return SyncKind::Unknown;
}

}  // namespace lacuna::analyzer
