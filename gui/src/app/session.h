// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <vector>

#include "base/trace.h"

namespace lacuna::gui {

class Page;

/// Remembers the state of a trace from one opening to the next: the page in front, and what each
/// page remembers. Kept in the settings under the path of its file, for that recording alone and
/// for the traces that were opened last.
void saveTraceSession(const Trace& trace, const std::vector<Page*>& pages, const QString& front);
/// Puts the pages back as they were, and answers with the page in front; `first` for a trace that
/// is new.
QString restoreTraceSession(const Trace& trace, const std::vector<Page*>& pages,
                            const QString& first);

}  // namespace lacuna::gui
