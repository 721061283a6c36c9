// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/ledger_json.h"

namespace lacuna::analyzer {

void writeLedger(JsonWriter& json, const Ledger& ledger, const Ledger& bands) {
  json.beginObject().field("total_ns", ledger.totalNs()).key("entries").beginArray();
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    json.beginObject().field("cause", causeKey(static_cast<Cause>(i))).field("ns", ledger.ns[i]).endObject();
  }
  json.endArray().field("unknown_ns", ledger[Cause::Unknown]);
  json.field("recording_ns", bands.totalNs()).key("recording").beginArray();
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    if (bands.ns[i] == 0) continue;
    json.beginObject().field("cause", causeKey(static_cast<Cause>(i))).field("ns", bands.ns[i]).endObject();
  }
  json.endArray().endObject();
}

}  // namespace lacuna::analyzer
