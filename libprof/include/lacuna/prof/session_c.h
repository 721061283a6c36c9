/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LACUNA_PROF_SESSION_C_H
#define LACUNA_PROF_SESSION_C_H

#include <stdint.h>

/* A C program that records itself into a trace file: session.h in C. The program records through
 * prof.h. Link lacuna::prof; the calls are safe from any thread. One session at a time in a
 * process; sessions may follow one another. If the process dies, `lacuna recover FILE.recording`
 * makes the trace of what is left. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct LacunaSessionOptions {
  uint64_t poolBytes;    /* memory for what is not written yet, taken at once; 0: 0.5 MiB */
  uint64_t maxPoolBytes; /* the most it may grow to; 0: 256 MiB */
  int flightRecorder;    /* 1: when all of it is full, the oldest events make room; 0: new ones are
                            dropped and counted */
} LacunaSessionOptions;

/* Starts recording into `file`; `options` may be NULL. Returns 0, or -1 with the reason in
 * lacunaSessionError(). */
int lacunaSessionStart(const char* file, const LacunaSessionOptions* options);
/* Every event whose call has returned is in the file afterwards. 0, or -1 as above. */
int lacunaSessionFlush(void);
/* Ends the recording and closes the file. 0, or -1 as above. In a forked child it does nothing. */
int lacunaSessionStop(void);
/* The error of this thread's last call that failed; "" before any did. Valid until the thread's
 * next call. */
const char* lacunaSessionError(void);

#ifdef __cplusplus
}
#endif

#endif
