import { statement } from '@leadwire/service-kit'
import type { Operation } from '../../operation'
import { MATCH, type MatchColumns, readMatch } from '../../outbox/record-change'
import { requireUnerased } from '../read/lead-rows'

const select = statement<MatchColumns & { erased: boolean }>('lead-match')`
  SELECT l.erased_at IS NOT NULL AS erased, ${MATCH} FROM leads l WHERE l.reference = $2 AND l.account_id = $1`

/**
 * Retrieves the current values of a lead that the filters of webhook endpoints compare. Throws `not_found`
 * if there is no such lead, and `lead_erased` if it was erased.
 */
export const retrieveLeadMatch: Operation<'retrieveLeadMatch'> = async ({ database }, request) => ({
  match: readMatch(await requireUnerased(database, select, request)),
})
