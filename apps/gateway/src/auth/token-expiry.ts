const SOON_MS = 14 * 24 * 3_600_000

/** Whether a token ends soon, which is within 14 days. One that has ended does not. Both in milliseconds since the epoch. */
export const endsSoon = (expiresAtMs: number | undefined, now: number): boolean =>
  expiresAtMs !== undefined && expiresAtMs > now && expiresAtMs <= now + SOON_MS
