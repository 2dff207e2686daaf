import type { OpenTransaction } from '@leadwire/service-kit'

/** Any constant: it tells these locks from others in the same database. */
const ACCOUNT_LOCKS = 1_280_791_892

/** Whoever makes endpoints of an account does so one after the other, so that the count of one holds for the other. */
export const lockAccount = (tx: OpenTransaction, accountId: number): void =>
  tx.send({
    name: 'lock-account',
    text: 'SELECT pg_advisory_xact_lock($1, ($2::bigint % 2147483647)::int)',
    values: [ACCOUNT_LOCKS, accountId],
  })
