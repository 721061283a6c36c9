// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <memory>
#include <mutex>
#include <optional>

#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/store.h"
#include "timeline/strip_renderer.h"

namespace lacuna::gui {

/// An opened trace with what the views need at hand. Immutable; shared by all of them.
struct Trace {
  QString path;
  qint64 fileBytes =
      0;  ///< the file's size before it was read: what came later may be missing here
  std::shared_ptr<const analyzer::Store> store;
  std::shared_ptr<const analyzer::TrackSet> tracks;
  std::unique_ptr<const NameStyles> darkStyles, lightStyles;

  [[nodiscard]] const NameStyles& styles(bool dark) const {
    return dark ? *darkStyles : *lightStyles;
  }
  [[nodiscard]] const analyzer::Track& track(const TrackRef& ref) const {
    return tracks->groups[ref.group].tracks[ref.track];
  }
  [[nodiscard]] QString name(prof::StringId id) const {
    const std::string_view text = analyzer::TrackSet::name(*store, id);
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
  }
  /// The first call looks at the arguments of all events: not for the GUI's thread.
  [[nodiscard]] const analyzer::Args& args() const {
    std::call_once(argsMade_, [this] { args_.emplace(*store); });
    return *args_;
  }

 private:
  mutable std::once_flag argsMade_;
  mutable std::optional<analyzer::Args> args_;
};
using TracePtr = std::shared_ptr<const Trace>;

}  // namespace lacuna::gui
