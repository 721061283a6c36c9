// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "lacuna/analyzer/lanes.h"

/// Tracks that outlive the program: as derived blocks of the trace itself, or of a file in the cache folder.
namespace lacuna::analyzer {

/// Tracks of fewer events are built faster than a user notices, and are not kept.
inline constexpr std::uint64_t kTracksWorthKeeping = 2'000'000;

/// The tracks kept in the store's file or in the cache folder, when they are there, whole and of the same content and
/// version; else null. Opening reads their pyramids; events are read when they are looked at. The set keeps the file
/// open.
std::shared_ptr<const TrackSet> loadTracks(const Store& store);
/// Those, or else new ones (see buildTracks).
prof::Result<std::shared_ptr<const TrackSet>> openTracks(const Store& store, const Progress& progress = {});

/// $XDG_CACHE_HOME/lacuna/tracks, else ~/.cache/lacuna/tracks; empty when there is no home.
std::filesystem::path trackCacheFolder();
/// Keeps tracks in the cache folder for the next opening, where it is worth it; the folder holds at most 8 GiB, what
/// was not used for longest goes first. Nothing to do is no error; a file still being written is not kept. Fails when
/// `progress`, which is told nothing but 0, answers false.
prof::Status keepTracks(const Store& store, const TrackSet& tracks, std::uint64_t leastEvents = kTracksWorthKeeping,
                        const Progress& progress = {});

/// Appends the tracks of a finished .lcn file to it, where that is worth it. On failure the file is as it was.
prof::Status addTracks(const std::filesystem::path& path, const Progress& progress = {},
                       std::uint64_t leastEvents = kTracksWorthKeeping);

}  // namespace lacuna::analyzer
