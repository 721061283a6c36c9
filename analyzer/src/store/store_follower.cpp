// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/store_follower.h"

#include <fmt/format.h>

#include "store/lcn_backend.h"

namespace lacuna::analyzer {

prof::Result<std::shared_ptr<const Store>> StoreFollower::poll() {
  std::error_code error;
  const std::uint64_t bytes = std::filesystem::file_size(path_, error);
  if (error) return prof::Error{fmt::format("cannot follow {}: {}", path_.string(), error.message())};
  if (any_ && bytes == seenBytes_) return std::shared_ptr<const Store>();
  // Without its end a file would be verified whole, again at every poll; a damaged block is named when it is read.
  auto reader = prof::Reader::open(path_, {prof::ReaderOptions::Verify::Never});
  if (!reader) return reader.error();
  const std::uint64_t content = reader->contentKey();
  const bool same = any_ && content == seenContent_;
  seenBytes_ = reader->fileBytes();
  seenContent_ = content;
  any_ = true;
  finished_ = reader->complete();
  if (same) return std::shared_ptr<const Store>();
  return std::make_shared<const Store>(std::make_shared<LcnBackend>(*std::move(reader)));
}

}  // namespace lacuna::analyzer
