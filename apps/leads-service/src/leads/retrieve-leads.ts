import type {
  LeadResult,
  RetrieveLead,
  RetrieveLeadsRequest,
  RetrieveLeadsResponse,
} from '@leadwire/contracts'
import { type Database, deadlineOf, ServiceError, unlessLate } from '@leadwire/service-kit'
import { faultsOf, isId } from '../arguments'
import { leadNotFound, leadResultOf } from './lead-result'
import { type JsonSettings, loadLeads } from './load-leads'

const resultOf = ({ accountId }: RetrieveLead, loaded: Buffer | ServiceError | undefined): LeadResult =>
  leadResultOf(
    isId(accountId) ? (loaded ?? leadNotFound()) : ServiceError.invalid(faultsOf({ account_id: false })),
  )

/** Retrieves many leads at once, each for its own account. */
export const retrieveLeads =
  ({ database, ...json }: { database: Database } & JsonSettings) =>
  async ({ leads }: RetrieveLeadsRequest): Promise<RetrieveLeadsResponse> => {
    const deadlines = leads.map(deadlineOf)
    const bodies = await database.connection((db) =>
      unlessLate(leads, deadlines, (items) => loadLeads(db, items, json)),
    )
    return { results: bodies.map((body, index) => resultOf(leads[index]!, body)) }
  }
