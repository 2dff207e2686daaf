import type { GetLeadResult, GetLeadsRequest, GetLeadsResponse } from '@leadwire/contracts'
import { type Database, failureOf } from '@leadwire/service-kit'
import { leadNotFound } from './lead-body'
import { type LoadedLead, loadLeads } from './load-leads'

const resultOf = (lead: LoadedLead | undefined): GetLeadResult => {
  if (!lead) return { result: { $case: 'failure', value: failureOf(leadNotFound()) } }
  const { version, body } = lead
  return { result: body ? { $case: 'body', value: body } : { $case: 'unchanged', value: true }, version }
}

/** Retrieves many leads at once, each for its own account. What the caller has of the same version is not sent again. */
export const getLeads =
  (deps: { database: Database; assetsUrl: string }) =>
  async ({ leads }: GetLeadsRequest): Promise<GetLeadsResponse> => ({
    results: (await loadLeads(deps.database, leads, deps.assetsUrl)).map(resultOf),
  })
