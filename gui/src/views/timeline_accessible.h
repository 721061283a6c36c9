// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lacuna::gui {

/// Lets screen readers walk through the timeline: a list whose items are the rows (groups and
/// tracks), with what is selected on them. To be called once, before a timeline is made.
void installTimelineAccessibility();

}  // namespace lacuna::gui
