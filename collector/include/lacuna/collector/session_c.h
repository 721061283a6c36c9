/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LACUNA_COLLECTOR_SESSION_C_H
#define LACUNA_COLLECTOR_SESSION_C_H

/* lacuna/collector/session.h in C: records this process, with NVTX and CUDA, into a trace. Link
 * lacuna::collector. Start the first session before the first NVTX annotation and before CUDA
 * initialises. */

#ifdef __cplusplus
extern "C" {
#endif

/* Starts recording into `file`. `sources` is as in lacuna run --trace ("nvtx,cuda,cublas"); NULL
 * means the default. Returns 0, or -1 with the reason in lacunaCollectorError(). */
int lacunaCollectorStart(const char* file, const char* sources);
/* Ends the recording and closes the file. 0, or -1 as above. Without a session it does nothing. */
int lacunaCollectorStop(void);
/* Lists what the running session cannot record, one line for each, "" when there is nothing to
 * list. Each line is for a part of `sources`, or for a variable of the environment that is taken.
 * Valid until the next call. */
const char* lacunaCollectorNotes(void);
/* The error of the last call that failed; "" before any did. Valid until the next call. */
const char* lacunaCollectorError(void);

#ifdef __cplusplus
}
#endif

#endif
