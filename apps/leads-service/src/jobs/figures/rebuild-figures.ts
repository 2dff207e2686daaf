import { statement, theRow } from '@leadwire/service-kit'
import type { Operation } from '../../operation'

const request = statement('request-rebuild-of-figures')`
  INSERT INTO figures_progress (account_id, is_rebuilding) SELECT id, true FROM accounts WHERE id = $1
  ON CONFLICT (account_id) DO UPDATE SET is_rebuilding = true RETURNING account_id`

/**
 * Lets the loop delete the sums of an account, and count all its leads again (`count-leads.ts`). Waits for a
 * batch that is being counted. Throws `not_found` if there is no such account.
 */
export const rebuildFigures: Operation<'rebuildFigures'> = async ({ database }, { accountId }) => {
  theRow(await request(database, accountId), 'account')
  return {}
}
