import type { Transaction } from '@leadwire/service-kit'

/** Ends claims whose attempts were not made, for no fault of their receivers: others may make them at once. */
export const releaseClaims = async (
  database: Transaction,
  claims: { id: number; claim: number }[],
): Promise<void> =>
  void (await database.query({
    name: 'release-claims',
    text: `UPDATE deliveries d SET claim = NULL, claimed_until = NULL
           FROM unnest($1::bigint[], $2::int[]) AS unmade (id, claim)
           WHERE d.id = unmade.id AND d.claim = unmade.claim`,
    values: [claims.map(({ id }) => id), claims.map(({ claim }) => claim)],
  }))
