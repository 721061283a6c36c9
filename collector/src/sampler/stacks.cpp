// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/stacks.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <type_traits>

namespace lacuna::collector::sampler {
namespace {

/// The kind that an entry of the journal begins with.
enum class Entry : std::uint8_t { Module = 1, Frame = 2 };

template <class T>
void put(std::string& into, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  into.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// False at a cut end.
template <class T>
bool take(std::string_view& from, T& value) {
  if (from.size() < sizeof value) return false;
  std::memcpy(static_cast<void*>(&value), from.data(), sizeof value);
  from.remove_prefix(sizeof value);
  return true;
}

void putText(std::string& into, const std::string& text) {
  put(into, static_cast<std::uint32_t>(text.size()));
  into += text;
}

bool takeText(std::string_view& from, std::string& text) {
  std::uint32_t size = 0;
  if (!take(from, size) || size > from.size()) return false;
  text = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

}  // namespace

void AddressSpace::map(std::uint64_t start, const Piece& piece) {
  auto at = pieces_.lower_bound(start);
  if (at != pieces_.begin()) {
    const auto before = std::prev(at);
    const Piece old = before->second;
    if (old.end > start) before->second.end = start;
    if (old.end > piece.end) {
      const std::uint64_t offset = old.fileOffset + (piece.end - before->first);
      pieces_[piece.end] = {old.end, offset, old.module};
    }
  }
  at = pieces_.lower_bound(start);
  while (at != pieces_.end() && at->first < piece.end) {
    const Piece old = at->second;
    const std::uint64_t begin = at->first;
    at = pieces_.erase(at);
    if (old.end > piece.end)
      pieces_[piece.end] = {old.end, old.fileOffset + (piece.end - begin), old.module};
  }
  pieces_[start] = piece;
}

const std::pair<const std::uint64_t, AddressSpace::Piece>* AddressSpace::find(
    std::uint64_t address) const {
  const auto after = pieces_.upper_bound(address);
  if (after == pieces_.begin()) return nullptr;
  const auto& entry = *std::prev(after);
  return address < entry.second.end ? &entry : nullptr;
}

std::uint32_t Stacks::moduleOf(const symbols::ModuleFile& file) {
  const auto [at, fresh] = moduleIds_.try_emplace({file.path, file.device, file.inode},
                                                  static_cast<std::uint32_t>(modules_.size()));
  if (fresh) {
    modules_.push_back(file);
    keepModule(file);
  }
  return at->second;
}

prof::FrameId Stacks::add(const AddressSpace& space, const std::vector<std::uint64_t>& chain,
                          prof::Drainer::Access& access) {
  prof::FrameId parent;
  for (std::size_t i = chain.size(); i-- > 0;) {
    // A return address is after its call, which may be the last instruction of its function.
    const std::uint64_t address = i == 0 || chain[i] == 0 ? chain[i] : chain[i] - 1;
    const auto* piece = space.find(address);
    const std::uint32_t module = piece != nullptr ? piece->second.module : 0;
    const std::uint64_t offset =
        piece != nullptr ? address - piece->first + piece->second.fileOffset : address;
    prof::FrameId& id = ids_[{parent.value, module, offset}];
    if (!id) {
      id = access.newFrame();
      frames_.push_back({id, parent, module, offset});
      keepFrame(frames_.back());
    }
    parent = id;
  }
  return parent;
}

void Stacks::keepModule(const symbols::ModuleFile& file) {
  put(journal_, Entry::Module);
  put(journal_, file.device);
  put(journal_, file.inode);
  putText(journal_, file.path);
  putText(journal_, file.buildId);
}

void Stacks::keepFrame(const Frame& frame) {
  put(journal_, Entry::Frame);
  put(journal_, frame.id);
  put(journal_, frame.parent);
  put(journal_, frame.module);
  put(journal_, frame.offset);
}

bool Stacks::load(std::string_view journal, prof::FrameId end) {
  Entry entry{};
  while (take(journal, entry)) {
    if (entry == Entry::Module) {
      symbols::ModuleFile file;
      if (!take(journal, file.device) || !take(journal, file.inode) ||
          !takeText(journal, file.path) || !takeText(journal, file.buildId)) {
        return true;
      }
      modules_.push_back(std::move(file));
    } else if (entry == Entry::Frame) {
      Frame frame{};
      if (!take(journal, frame.id) || !take(journal, frame.parent) ||
          !take(journal, frame.module) || !take(journal, frame.offset)) {
        return true;
      }
      if (!frame.id || frame.parent >= frame.id || frame.module >= modules_.size()) return false;
      if (frame.id < end) frames_.push_back(frame);
    } else {
      return false;
    }
  }
  return true;
}

void Stacks::write(const FrameNames& names, prof::Drainer::Access& access) const {
  prof::Writer& writer = access.writer();
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    writer.append(prof::StackFrame{.id = frames_[i].id,
                                   .parent = frames_[i].parent,
                                   .address = names.symbols[i].address,
                                   .function = writer.intern(names.symbols[i].function),
                                   .module = writer.intern(modules_[frames_[i].module].path),
                                   .file = writer.intern(names.symbols[i].file),
                                   .line = names.symbols[i].line});
  }
  access.countRows(frames_.size());
}

}  // namespace lacuna::collector::sampler
