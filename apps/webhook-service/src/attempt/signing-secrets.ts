/** A secret that was replaced and signs until an instant (ISO 8601 in UTC, milliseconds). */
export interface OldSecret {
  secret: string
  until: string
}

/**
 * The secrets that sign an attempt that starts at `at`, oldest first, the current one last. The document's header,
 * which carries one signature, is made with the first; Standard Webhooks' carries one of each.
 */
export const signingSecrets = (
  { secret, oldSecrets }: { secret: string; oldSecrets: OldSecret[] },
  at: Date,
): [string, ...string[]] => {
  const old = oldSecrets.filter(({ until }) => at.getTime() < Date.parse(until)).map((each) => each.secret)
  const [first = secret, ...others] = [...old, secret]
  return [first, ...others]
}
