import type { GetLeadsRequest, GetLeadsResponse } from '@leadwire/contracts'
import { type Database, failureOf } from '@leadwire/service-kit'
import { leadNotFound } from './lead-body'
import { loadLeads } from './load-leads'

/** Retrieves many leads at once, each for its own account. */
export const getLeads =
  (deps: { database: Database; assetsUrl: string }) =>
  async ({ leads }: GetLeadsRequest): Promise<GetLeadsResponse> => {
    const bodies = await loadLeads(deps.database, leads, deps.assetsUrl)
    return {
      results: bodies.map((body) => ({
        result: body
          ? { $case: 'body', value: body }
          : { $case: 'failure', value: failureOf(leadNotFound()) },
      })),
    }
  }
