import type { GetLead, GetLeadResult, GetLeadsRequest, GetLeadsResponse } from '@leadwire/contracts'
import { type Database, failureOf, ServiceError } from '@leadwire/service-kit'
import { faultsOf, isId } from '../arguments'
import { leadNotFound } from './lead-body'
import { type LoadedLead, loadLeads } from './load-leads'

const failed = (error: ServiceError): GetLeadResult => ({
  result: { $case: 'failure', value: failureOf(error) },
  version: undefined,
})

const resultOf = ({ accountId }: GetLead, lead: LoadedLead | undefined): GetLeadResult => {
  if (!isId(accountId)) return failed(ServiceError.invalid(faultsOf({ account_id: false })))
  if (!lead) return failed(leadNotFound())
  const { version, body } = lead
  return { result: body ? { $case: 'body', value: body } : { $case: 'unchanged', value: true }, version }
}

/** Retrieves many leads at once, each for its own account. What the caller has of the same version is not sent again. */
export const getLeads =
  (deps: { database: Database; assetsUrl: string }) =>
  async ({ leads }: GetLeadsRequest): Promise<GetLeadsResponse> => ({
    results: (await loadLeads(deps.database, leads, deps.assetsUrl)).map((lead, index) =>
      resultOf(leads[index]!, lead),
    ),
  })
