// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include "app/trace.h"

namespace lacuna::gui {

class TimelineView;

/// Remembers the state of a trace from one opening to the next: the stretch shown, bookmarks and notes, folded or
/// pinned tracks, and the page. Kept in the settings under the path of its file, for that recording alone and for the
/// traces that were opened last.
void saveTraceSession(const Trace& trace, const TimelineView& view, const QString& page);
/// Puts the view back as it was, and answers with the page; the first page for a trace that is new.
QString restoreTraceSession(const Trace& trace, TimelineView& view);

}  // namespace lacuna::gui
