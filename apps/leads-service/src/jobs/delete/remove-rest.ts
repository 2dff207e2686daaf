import type { DeletionDeps } from './deletion-deps'

const BATCH = 500

const FIND_IMAGES = `SELECT id, key FROM images WHERE account_id = $1 ORDER BY id LIMIT ${BATCH}`
const DELETE_IMAGES = 'DELETE FROM images WHERE account_id = $1 AND id = ANY ($2)'

const OF_TOKENS = 'token_id = ANY (ARRAY (SELECT id FROM tokens WHERE account_id = $1))'

// Tables of which an account may have many rows, a batch at a time.
const PORTIONS = [
  `DELETE FROM idempotency_keys WHERE ctid = ANY (
     ARRAY (SELECT ctid FROM idempotency_keys WHERE ${OF_TOKENS} LIMIT ${BATCH})) RETURNING 1`,
  `DELETE FROM audit WHERE ctid = ANY (
     ARRAY (SELECT ctid FROM audit WHERE account_id = $1 LIMIT ${BATCH})) RETURNING 1`,
  `DELETE FROM outbox WHERE ctid = ANY (
     ARRAY (SELECT ctid FROM outbox WHERE account_id = $1 LIMIT ${BATCH})) RETURNING 1`,
  `DELETE FROM unexplained WHERE ctid = ANY (
     ARRAY (SELECT ctid FROM unexplained WHERE account_id = $1 LIMIT ${BATCH})) RETURNING 1`,
]

const LAST = [
  'DELETE FROM tokens WHERE account_id = $1',
  'DELETE FROM users WHERE account_id = $1',
  'DELETE FROM lead_search_progress WHERE account_id = $1',
  'DELETE FROM reconciled_leads WHERE account_id = $1',
  'DELETE FROM accounts WHERE id = $1',
  'UPDATE account_deletions SET finished_at = clock_timestamp() WHERE account_id = $1',
]

const removeImages = async ({ database, deleteFiles }: DeletionDeps, accountId: number): Promise<boolean> => {
  const images = await database.query<{ id: number; key: string }>({ text: FIND_IMAGES, values: [accountId] })
  await deleteFiles(images.map(({ key }) => key))
  await database.query({ text: DELETE_IMAGES, values: [accountId, images.map(({ id }) => id)] })
  return images.length > 0
}

/** Removes a batch of the remaining rows of an account without leads, the account itself last. */
export const removeRest = async (deps: DeletionDeps, accountId: number): Promise<void> => {
  if (await removeImages(deps, accountId)) return
  const { done } = await deps.webhooks.removeAccount({ accountId })
  if (!done) return
  for (const text of PORTIONS)
    if ((await deps.database.query({ text, values: [accountId] })).length === BATCH) return
  await deps.database.transaction(async (tx) => {
    for (const text of LAST) tx.send({ text, values: [accountId] })
  })
}
