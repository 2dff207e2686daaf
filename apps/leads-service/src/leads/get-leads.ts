import type { GetLeadsRequest, GetLeadsResponse } from '@leadwire/contracts'
import { type Database, failureOf } from '@leadwire/service-kit'
import { leadBody, leadNotFound } from './lead-body'
import { loadLeads } from './load-leads'
import { isReference } from './reference'

// No lead has it: PostgreSQL is asked for well-formed references only.
const NO_REFERENCE = '00000000-0000-0000-0000-000000000000'

/** Retrieves many leads at once, each for its own account. */
export const getLeads =
  (deps: { database: Database; assetsUrl: string }) =>
  async ({ leads }: GetLeadsRequest): Promise<GetLeadsResponse> => {
    const asked = leads.map((item) => ({
      ...item,
      reference: isReference(item.reference) ? item.reference : NO_REFERENCE,
    }))
    const found = await loadLeads(deps.database, asked, deps.assetsUrl)
    return {
      results: found.map((lead) => ({
        result: lead
          ? { $case: 'body', value: leadBody(lead) }
          : { $case: 'failure', value: failureOf(leadNotFound()) },
      })),
    }
  }
