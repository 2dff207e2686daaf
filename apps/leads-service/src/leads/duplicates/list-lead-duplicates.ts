import { LeadFilters, type ListLeadDuplicatesRequest } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import { findSuspects, type Suspect } from '../../jobs/search/find-suspects'
import { personTerms } from '../../jobs/search/person-terms'
import type { Searched } from '../../jobs/search/search-terms'
import { numbersOf } from '../list/find-leads'
import { requireLead } from '../read/lead-rows'

const SELECT = `
  SELECT number, name, postcode, first_name, last_name, company_name, email, phone, phone_link, mobile, mobile_link,
    created_at, created_at + make_interval(secs => $3) AS until, created_at + make_interval(secs => $3) > now() AS recent
  FROM leads WHERE reference = $2 AND account_id = $1`

type Deps = { database: Database; duplicateWindowMs: number }

/**
 * The leads that may be of the same person as a lead and were created within the window before or after it: the newest, newest first.
 * Leads whose words are not written yet are missing. Throws not_found.
 */
export const listLeadDuplicates =
  ({ database, duplicateWindowMs: windowMs }: Deps) =>
  (request: ListLeadDuplicatesRequest): Promise<{ suspects: Suspect[] }> =>
    database.transaction(async (tx) => {
      const { accountId } = request
      validate({ account_id: isId(accountId) })
      const query = { name: 'lead-of-duplicates', text: SELECT }
      const lead = await requireLead<
        Searched & { number: number; created_at: string; until: string; recent: boolean }
      >(...([tx, query, request, windowMs / 1000] as const))
      const { number, created_at: createdAt, until, recent } = lead
      const terms = personTerms(lead).map((term) => ({ number, term, createdAt }))
      const { last } = await numbersOf(
        tx,
        accountId,
        LeadFilters.fromPartial(recent ? {} : { createdTo: until }),
      )
      const found = await findSuspects(tx, accountId, { terms, before: last + 1, windowMs })
      return { suspects: found.get(number) ?? [] }
    })
