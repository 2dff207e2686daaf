import type { RetrieveLeadMatchRequest } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import { MATCH, type MatchColumns, matchOf } from '../../outbox/lead-match'
import { requireLead } from '../read/lead-rows'
import { requireUnerased } from './lock-lead'

const SELECT = `
  SELECT l.erased_at IS NOT NULL AS erased, ${MATCH} FROM leads l WHERE l.reference = $2 AND l.account_id = $1`

/** What filters of endpoints compare, of a lead as it is now. Throws invalid, not_found and lead_erased. */
export const retrieveLeadMatch =
  ({ database }: { database: Database }) =>
  async (request: RetrieveLeadMatchRequest) => {
    validate({ account_id: isId(request.accountId) })
    const query = { name: 'lead-match', text: SELECT }
    const lead = await requireLead<MatchColumns & { erased: boolean }>(database, query, request)
    requireUnerased(lead)
    return { match: matchOf(lead) }
  }
