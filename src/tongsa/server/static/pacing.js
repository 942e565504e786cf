/** When to send a text that is being typed: at the end of a word at once, otherwise while typing, not only after it. */

/** Milliseconds without typing before the text is sent. */
const TYPING_PAUSE = 250;
/** Milliseconds between requests while typing goes on; more if the server needs longer for one. */
const MAX_WAIT = 600;
const MAX_INTERVAL = 3000;
/** Seconds before the first retries; the last value repeats. */
const RETRY_SECONDS = [2, 4, 8, 30];
const WORD_END = /[\s\p{P}]$/u;

/** Whether a typed text ends a word; a paste or a deletion counts too. @param {string | null | undefined} typed */
export const endsWord = (typed) => !typed || typed.length > 1 || WORD_END.test(typed);

/**
 * Return the milliseconds until the text is sent.
 * @param {{ typed: string | null | undefined, now: number, unsentSince: number, sentAt: number, isBusy: boolean,
 *   latency: number }} input the typed text, the times of the first unsent change and of the last request, whether it
 *   still runs, and the milliseconds that the last complete one took
 */
export const sendDelay = ({ typed, now, unsentSince, sentAt, isBusy, latency }) => {
  if (endsWord(typed) && !isBusy) return 0;
  // a request that is aborted before it can finish would never show anything
  const interval = Math.min(MAX_INTERVAL, Math.max(MAX_WAIT, 1.2 * latency));
  const deadline = isBusy ? Math.max(unsentSince + MAX_WAIT, sentAt + interval) : unsentSince + MAX_WAIT;
  return Math.max(0, Math.min(TYPING_PAUSE, deadline - now));
};

/** Seconds until the next retry. @param {number} failures so far @param {number} [requested] by the server */
export const retryDelay = (failures, requested = 0) =>
  Math.max(requested, RETRY_SECONDS[Math.min(Math.max(failures, 1), RETRY_SECONDS.length) - 1]);
