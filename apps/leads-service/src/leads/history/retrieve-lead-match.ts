import { statement } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import type { Operation } from '../../operation'
import { MATCH, type MatchColumns, matchOf } from '../../outbox/lead-match'
import { requireUnerased } from '../read/lead-rows'

const select = statement<MatchColumns & { erased: boolean }>('lead-match')`
  SELECT l.erased_at IS NOT NULL AS erased, ${MATCH} FROM leads l WHERE l.reference = $2 AND l.account_id = $1`

/** What filters of endpoints compare, of a lead as it is now. Throws invalid, not_found and lead_erased. */
export const retrieveLeadMatch: Operation<'retrieveLeadMatch'> = async ({ database }, request) => {
  validate({ account_id: isId(request.accountId) })
  return { match: matchOf(await requireUnerased(database, select, request)) }
}
