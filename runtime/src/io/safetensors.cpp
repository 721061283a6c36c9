// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "backend/backend.h"
#include "instrument/observer.h"
#include "io/checksum.h"
#include "io/safetensors_header.h"
#include "lacuna/runtime/serialize.h"

namespace lacuna::rt {
namespace {

/// The entry of the metadata that holds the checksum of all others; with a dot and a tensor's name,
/// that of the tensor.
constexpr std::string_view kChecksum = "lacuna.xxh3";
constexpr const char* kSave = "saveTensors";

std::string jsonText(std::string_view text) {
  if (!simdjson::validate_utf8(text))
    fail(kSave, "'" + std::string(text) + "' is not UTF-8, which names and metadata must be");
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      out += escape.data();
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool isChecksum(std::string_view key) {
  return key == kChecksum || (key.starts_with(kChecksum) && key[kChecksum.size()] == '.');
}

std::string checksumKey(const std::string& tensor) {
  return std::string(kChecksum) + "." + tensor;
}

std::string described(DType dtype, const Shape& shape) {
  return kSafetensorsTypes[static_cast<int>(dtype)] + shape.toString();
}

/// The metadata of a file with these tensors, whose checksums are yet to be filled in.
Metadata withChecksums(const TensorMap& tensors, const Metadata& metadata) {
  Metadata all = metadata;
  for (const auto& [key, value] : metadata) {
    if (isChecksum(key))
      fail(kSave, "the metadata's '" + key +
                      "' is reserved for the checksums that the file writes itself");
  }
  const std::string sum = checksumOf(metadata);
  all.emplace(kChecksum, sum);
  for (const auto& [name, tensor] : tensors)
    all.emplace(checksumKey(name), std::string(sum.size(), '0'));
  return all;
}

std::string metadataJson(const Metadata& metadata) {
  std::string out;
  for (const auto& [key, value] : metadata)
    out += (out.empty() ? "" : ",") + jsonText(key) + ":" + jsonText(value);
  return "\"__metadata__\":{" + out + "}";
}

std::string entryJson(const std::string& name, const Tensor& tensor, std::uint64_t begin) {
  std::string dims;
  for (const std::int64_t dim : tensor.shape())
    dims += (dims.empty() ? "" : ",") + std::to_string(dim);
  return jsonText(name) + ":{\"dtype\":\"" + kSafetensorsTypes[static_cast<int>(tensor.dtype())] +
         "\",\"shape\":[" + dims + "],\"data_offsets\":[" + std::to_string(begin) + "," +
         std::to_string(begin + tensor.sizeBytes()) + "]}";
}

std::string headerJson(const TensorMap& tensors, const Metadata& metadata) {
  std::string header = "{" + metadataJson(metadata);
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    if (name == "__metadata__") fail(kSave, "a tensor cannot be called __metadata__");
    if (tensor.isMeta()) fail(kSave, "'" + name + "' is on meta, so it has no values");
    header += "," + entryJson(name, tensor, offset);
    offset += tensor.sizeBytes();
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // the data begins aligned
  if (header.size() > kMaxSafetensorsHeader) {
    fail(kSave, "names and metadata take " + std::to_string(header.size()) +
                    " bytes, and no reader takes more than " +
                    std::to_string(kMaxSafetensorsHeader));
  }
  return header;
}

/// A draft that was not there before: what a killed process left goes, and a link is not written
/// through.
std::FILE* openDraft(const std::string& draft) {
  ::unlink(draft.c_str());
  return std::fopen(draft.c_str(), "wbxe");
}

/// Brings the names of a folder onto the disk, where it may be read.
bool syncFolder(const std::filesystem::path& path) {
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno == EACCES;
  const bool synced = ::fsync(fd) == 0 || errno == EINVAL;
  ::close(fd);
  return synced;
}

/// A file beside the target that takes its place only when it was written whole.
class Replacement {
 public:
  explicit Replacement(const std::filesystem::path& path)
      : path_(path),
        draft_(path.string() + ".tmp" + std::to_string(::getpid())),
        file_(openDraft(draft_)) {
    if (file_ == nullptr) complain("cannot create");
  }
  ~Replacement() {
    if (file_ != nullptr) std::fclose(file_);
    if (!draft_.empty()) std::remove(draft_.c_str());
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  void write(const void* data, std::size_t bytes) {
    if (std::fwrite(data, 1, bytes, file_) != bytes) complain("cannot write");
  }
  void overwrite(long offset, const std::string& bytes) {
    if (std::fseek(file_, offset, SEEK_SET) != 0) complain("cannot write");
    write(bytes.data(), bytes.size());
  }
  void commit() {
    if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) complain("cannot write");
    if (std::rename(draft_.c_str(), path_.c_str()) != 0) complain("cannot replace");
    draft_.clear();
    if (!syncFolder(path_)) complain("cannot write");
  }

 private:
  [[noreturn]] void complain(const char* what) {
    fail(kSave, std::string(what) + " " + path_.string() + ": " + std::strerror(errno));
  }
  std::filesystem::path path_;
  std::string draft_;
  std::FILE* file_;
};

/// Reads one file; every complaint names it.
class FileLoader {
 public:
  explicit FileLoader(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code error;
    // Before it is opened: that would wait for the writer of a pipe.
    const std::filesystem::file_status status = std::filesystem::status(path_, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
      refuse("it is not a regular file");
    file_.open(path_, std::ios::binary);
    if (!file_) refuse(std::string("cannot open it: ") + std::strerror(errno));
    size_ = std::filesystem::file_size(path_, error);
    if (error) refuse("its size cannot be found out: " + error.message());
  }

  LoadedTensors load() {
    const std::string json = readHeader();
    SafetensorsHeader header = parseSafetensorsHeader(path_.string(), json, size_ - dataStart_);
    loaded_.metadata = std::move(header.metadata);
    takeChecksums();
    for (const SafetensorsEntry& tensor : header.tensors)
      loaded_.tensors.emplace(tensor.name, read(tensor));
    return std::move(loaded_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { refuseSafetensors(path_.string(), why); }

  std::string readHeader() {
    std::array<unsigned char, kSafetensorsLengthBytes> raw{};
    if (size_ < raw.size() || !file_.read(reinterpret_cast<char*>(raw.data()), raw.size()))
      refuse("it is too short");
    const std::uint64_t bytes = safetensorsHeaderBytes(path_.string(), raw, size_);
    std::string header(bytes, '\0');
    if (!file_.read(header.data(), static_cast<std::streamsize>(bytes)))
      refuse("it cannot be read");
    dataStart_ = raw.size() + bytes;
    return header;
  }

  /// Takes the file's own entries out: they are no metadata of whoever saved it.
  void takeChecksums() {
    for (auto at = loaded_.metadata.begin(); at != loaded_.metadata.end();) {
      const auto next = std::next(at);
      if (isChecksum(at->first)) checksums_.insert(loaded_.metadata.extract(at));
      at = next;
    }
    if (!checksums_.empty())
      verify("its __metadata__", std::string(kChecksum), checksumOf(loaded_.metadata));
  }

  void verify(const std::string& what, const std::string& key, const std::string& sum) const {
    const auto found = checksums_.find(key);
    if (found == checksums_.end())
      refuse(what + " has no checksum, although other parts have: the file is damaged");
    if (found->second != sum) {
      refuse(
          what +
          " does not match its checksum: the file is damaged, or a program that does not know of " +
          std::string(kChecksum) + " changed it and kept that");
    }
  }

  Tensor read(const SafetensorsEntry& entry) {
    const instrument::MemoryOrigin origin("load");
    Tensor tensor = emptyHost(entry.shape, entry.dtype);
    file_.seekg(static_cast<std::streamoff>(dataStart_ + entry.begin));
    if (entry.end > entry.begin &&
        !file_.read(static_cast<char*>(tensor.data()),
                    static_cast<std::streamsize>(entry.end - entry.begin))) {
      refuse("tensor " + entry.name + " cannot be read");
    }
    const auto* bytes = static_cast<const std::uint8_t*>(tensor.data());
    if (entry.dtype == DType::Bool &&
        std::any_of(bytes, bytes + tensor.sizeBytes(), [](auto b) { return b > 1; }))
      refuse("tensor " + entry.name + " is of BOOL and holds something else than 0 and 1");
    if (!checksums_.empty()) {
      verify("tensor " + entry.name, checksumKey(entry.name),
             checksumOf(described(entry.dtype, entry.shape), bytes, tensor.sizeBytes()));
    }
    return tensor;
  }

  std::filesystem::path path_;
  std::ifstream file_;
  std::uint64_t size_ = 0;
  std::uint64_t dataStart_ = 0;
  Metadata checksums_;  ///< none in files of other programs
  LoadedTensors loaded_;
};

}  // namespace

void saveTensors(const std::filesystem::path& path, const TensorMap& tensors,
                 const Metadata& metadata) {
  Metadata all = withChecksums(tensors, metadata);
  const std::string header = headerJson(tensors, all);
  Replacement file(path);
  std::array<unsigned char, kSafetensorsLengthBytes> length{};
  for (std::size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<unsigned char>(header.size() >> (8 * i));
  file.write(length.data(), length.size());
  file.write(header.data(), header.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor packed = tensor.detach().contiguous();
    synchronize();
    const void* values = viewOf(packed).data;
    file.write(values, packed.sizeBytes());
    all[checksumKey(name)] =
        checksumOf(described(packed.dtype(), packed.shape()), values, packed.sizeBytes());
  }
  file.overwrite(static_cast<long>(length.size()), headerJson(tensors, all));
  file.commit();
}

LoadedTensors loadTensors(const std::filesystem::path& path) {
  return FileLoader(path).load();
}

}  // namespace lacuna::rt
