// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "python/memory.h"

namespace lacuna::collector::python {

/// Where a thread is: its function, line and file, from the inside out.
struct Place {
  std::string function;
  std::uint32_t line = 0;
  std::string file;
  friend bool operator==(const Place&, const Place&) = default;
};
using Places = std::map<std::uint32_t, std::vector<Place>>;  ///< by thread

/// Memory as it was read once from a Python program that stood still, with what the program had
/// announced and where its own interpreter had found its threads.
struct Image {
  std::string announcement;
  std::string truth;  ///< lines of places.py
  std::map<std::uint64_t, std::string> pieces;

  [[nodiscard]] Places places() const {
    Places places;
    std::istringstream lines(truth);
    std::uint32_t tid = 0;
    Place place;
    while (lines >> tid >> place.function >> place.line &&
           std::getline(lines >> std::ws, place.file)) {
      places[tid].push_back(place);
    }
    return places;
  }

  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    out << announcement << "---\n" << truth << "---\n" << std::hex;
    for (const auto& [address, bytes] : pieces) {
      out << address << ' ';
      for (const char byte : bytes) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        out << kDigits[static_cast<unsigned char>(byte) >> 4]
            << kDigits[static_cast<unsigned char>(byte) & 15];
      }
      out << '\n';
    }
    return out.str();
  }

  static Image parse(const std::string& text) {
    Image image;
    const std::size_t first = text.find("---\n"), second = text.find("---\n", first + 4);
    image.announcement = text.substr(0, first);
    image.truth = text.substr(first + 4, second - first - 4);
    std::istringstream lines(text.substr(second + 4));
    std::string address, digits;
    while (lines >> address >> digits) {
      std::string bytes;
      for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        bytes += static_cast<char>(std::strtoul(digits.substr(i, 2).c_str(), nullptr, 16));
      }
      image.pieces[std::strtoull(address.c_str(), nullptr, 16)] = bytes;
    }
    return image;
  }
};

/// Reads what is in an image, and nothing else.
class ImageMemory final : public Memory {
 public:
  explicit ImageMemory(std::map<std::uint64_t, std::string> pieces) : pieces_(std::move(pieces)) {}
  using Memory::read;
  std::size_t read(std::span<const Piece> pieces) override {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (!copy(pieces[i])) return i;
    }
    return pieces.size();
  }
  std::map<std::uint64_t, std::string>& pieces() { return pieces_; }

 private:
  bool copy(const Piece& piece) const {
    // Pieces may overlap: any that holds all of it will do.
    for (auto at = pieces_.upper_bound(piece.address); at != pieces_.begin();) {
      --at;
      const std::uint64_t offset = piece.address - at->first;
      if (offset > at->second.size() || at->second.size() - offset < piece.into.size()) continue;
      at->second.copy(reinterpret_cast<char*>(piece.into.data()), piece.into.size(), offset);
      return true;
    }
    return false;
  }
  std::map<std::uint64_t, std::string> pieces_;
};

/// Keeps what is read of another memory.
class KeepingMemory final : public Memory {
 public:
  explicit KeepingMemory(Memory& from) : from_(from) {}
  using Memory::read;
  std::size_t read(std::span<const Piece> pieces) override {
    const std::size_t count = from_.read(pieces);
    for (std::size_t i = 0; i < count; ++i) {
      std::string& kept = pieces_[pieces[i].address];
      if (kept.size() >= pieces[i].into.size()) continue;
      kept.assign(reinterpret_cast<const char*>(pieces[i].into.data()), pieces[i].into.size());
    }
    return count;
  }
  [[nodiscard]] const std::map<std::uint64_t, std::string>& pieces() const { return pieces_; }

 private:
  Memory& from_;
  std::map<std::uint64_t, std::string> pieces_;
};

}  // namespace lacuna::collector::python
