import type { GetLeadsRequest, GetLeadsResponse } from '@leadwire/contracts'
import { type Database, failureOf } from '@leadwire/service-kit'
import { keepLeads } from './kept-leads'
import { leadNotFound } from './lead-body'
import { loadLeads } from './load-leads'

/** Retrieves many leads at once, each for its own account. */
export const getLeads = (deps: {
  database: Database
  assetsUrl: string
}): ((request: GetLeadsRequest) => Promise<GetLeadsResponse>) => {
  const kept = keepLeads()
  return async ({ leads }) => {
    const bodies = await loadLeads(deps.database, leads, deps.assetsUrl, kept)
    return {
      results: bodies.map((body) => ({
        result: body
          ? { $case: 'body', value: body }
          : { $case: 'failure', value: failureOf(leadNotFound()) },
      })),
    }
  }
}
