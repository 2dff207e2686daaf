import type { RetrieveLeadsRequest, RetrieveLeadsResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { errorsOf, isId } from '../../arguments'
import { leadNotFound, leadResultOf } from './lead-result'
import { type JsonSettings, loadLeads } from './load-leads'
import { deadlineOf, unlessTimedOut } from './unless-timed-out'

/** Retrieves many leads at once, each for its own account. */
export const retrieveLeads =
  ({ database, ...json }: { database: Database } & JsonSettings) =>
  async ({ leads }: RetrieveLeadsRequest): Promise<RetrieveLeadsResponse> => {
    const deadlines = leads.map(deadlineOf)
    const found = await database.connection((db) =>
      unlessTimedOut(leads, deadlines, (items) => loadLeads(db, items, json)),
    )
    const outcomes = found.map((lead, index) =>
      isId(leads[index]!.accountId)
        ? (lead ?? leadNotFound())
        : ServiceError.invalid(errorsOf({ account_id: false })),
    )
    return { results: outcomes.map(leadResultOf) }
  }
