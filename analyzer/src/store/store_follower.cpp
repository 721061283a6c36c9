// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/store.h"
#include "store/lcn_backend.h"

namespace lacuna::analyzer {

prof::Result<std::shared_ptr<const Store>> StoreFollower::poll() {
  bool more = !reader_;
  if (reader_) {
    auto grown = reader_->refresh();
    // A file that was begun anew is a new one.
    if (!grown) reader_.reset();
    more = !grown || *grown;
  }
  if (!more) return std::shared_ptr<const Store>();
  if (!reader_) {
    // Without its end a file would be verified whole; a damaged block is named when it is read.
    auto opened = prof::Reader::open(path_, {prof::ReaderOptions::Verify::Never});
    if (!opened) return opened.error();
    reader_ = *std::move(opened);
    any_ = false;
  }
  finished_ = reader_->complete();
  const std::uint64_t content = reader_->contentKey();
  if (any_ && content == seenContent_) return std::shared_ptr<const Store>();
  any_ = true;
  seenContent_ = content;
  return std::make_shared<const Store>(std::make_shared<LcnBackend>(prof::Reader(*reader_)));
}

}  // namespace lacuna::analyzer
