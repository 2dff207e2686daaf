import type { DeletionDeps } from './deletion-deps'
import { removeImports } from './remove-imports'
import { removeLeads } from './remove-leads'
import { removeRest } from './remove-rest'

// A lease, as for erasures: when a process dies, another continues where it stopped. Accounts alternate.
const CLAIM = `
  UPDATE account_deletions SET due_at = clock_timestamp() + interval '30 seconds'
  WHERE account_id = (
    SELECT account_id FROM account_deletions WHERE finished_at IS NULL AND due_at <= clock_timestamp()
    ORDER BY due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
  )
  RETURNING account_id AS "accountId"`

const RELEASE = 'UPDATE account_deletions SET due_at = clock_timestamp() WHERE account_id = $1'

/** Removes a batch of an account that is to be deleted. Resolves with whether there was one. */
export const deleteOnce = async (deps: DeletionDeps): Promise<boolean> => {
  const [claimed] = await deps.database.query<{ accountId: number }>({ text: CLAIM })
  if (!claimed) return false
  const { accountId } = claimed
  await deps.webhooks.holdAccount({ accountId, held: true })
  // Imports first: they create leads.
  const hasRemoved = (await removeImports(deps, accountId)) || (await removeLeads(deps, accountId))
  if (!hasRemoved) await removeRest(deps, accountId)
  await deps.database.query({ text: RELEASE, values: [accountId] })
  return true
}
