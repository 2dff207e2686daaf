import { LeadFilters } from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import { findSuspects } from '../../jobs/search/find-suspects'
import { personTerms } from '../../jobs/search/person-terms'
import type { Searched } from '../../jobs/search/search-terms'
import type { Operation } from '../../operation'
import { findStoredNumbers } from '../list/find-leads'
import { requireLead } from '../read/lead-rows'

type Row = Searched & { number: number; created_at: string; until: string; recent: boolean }

const select = statement<Row>('lead-of-duplicates')`
  SELECT number, name, postcode, first_name, last_name, company_name, email, phone, phone_link, mobile, mobile_link,
    created_at, created_at + make_interval(secs => $3) AS until, created_at + make_interval(secs => $3) > now() AS recent
  FROM leads WHERE reference = $2 AND account_id = $1`

/**
 * Lists the suspected duplicates of a lead, newest first: leads that may belong to the same person, and that
 * were created at most `duplicateWindowMs` before or after the lead. Does not find leads that are not indexed
 * yet. Throws `not_found` if there is no such lead.
 */
export const listLeadDuplicates: Operation<'listLeadDuplicates'> = (deps, request) =>
  deps.database.transaction(async (tx) => {
    const { accountId } = request
    const { duplicateWindowMs: windowMs } = deps
    const lead = await requireLead(tx, select, request, windowMs / 1000)
    const { number, created_at: createdAt, until, recent } = lead
    const terms = personTerms(lead).map((term) => ({ number, term, createdAt }))
    const created = LeadFilters.fromPartial(recent ? {} : { createdTo: until })
    const { last } = await findStoredNumbers(tx, accountId, created)
    const found = await findSuspects(tx, accountId, { terms, before: last + 1, windowMs })
    return { suspects: found.get(number) ?? [] }
  })
