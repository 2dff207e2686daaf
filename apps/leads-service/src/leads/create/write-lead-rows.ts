import type { CreateLead, ImportRow } from '@leadwire/contracts'
import { type OpenTransaction, ServiceError } from '@leadwire/service-kit'
import { lockProgress } from '../../jobs/search/write-terms'
import type { OutboxEvent } from '../../outbox/record-events'
import { lockExternalIds } from './lock-external-ids'
import { lockAccounts } from './number-leads'
import { writeUpsert } from './upsert-lead'
import { type Outcome, type WriteLeadsDeps, type WrittenLead, writeNewLeads } from './write-new-leads'

/** The result of a row: its lead, or its errors as the JSON of an object (field: [messages]). */
export type RowOutcome = { lead: WrittenLead } | { errors: string }

type RowContext = Pick<CreateLead, 'accountId' | 'actor' | 'traceparent'>

const hasExternalId = ({ lead }: CreateLead): boolean => lead!.externalId !== undefined

/**
 * Writes leads one after the other, because a lead may have the same external id as a lead before it. Takes
 * all locks first, in the order of docs/architecture.md: external ids and their leads, search progress,
 * account. Otherwise a new lead would lock the account, and a change of a later lead would then lock the
 * search progress, against this order.
 */
const writeInOrder = async (
  deps: WriteLeadsDeps,
  tx: OpenTransaction,
  items: CreateLead[],
  events: OutboxEvent[] | undefined,
): Promise<Map<CreateLead, Outcome>> => {
  const { accountId } = items[0]!
  lockExternalIds(tx, accountId, items)
  await lockProgress(tx, accountId, { skip: false })
  lockAccounts.send(tx, [accountId])
  const outcomes = new Map<CreateLead, Outcome>()
  for (const item of items) {
    if (hasExternalId(item)) {
      outcomes.set(item, await writeUpsert(deps, tx, item, events))
    } else {
      const written = await writeNewLeads(deps, tx, [item], events)
      outcomes.set(item, written.get(item)!)
    }
  }
  return outcomes
}

const describeOutcome = (outcome: Outcome): RowOutcome => {
  if (!(outcome instanceof ServiceError)) return { lead: outcome }
  // An error other than `invalid` does not concern the row alone, and fails the whole batch.
  if (outcome.code !== 'invalid') throw outcome
  return { errors: JSON.stringify(outcome.fieldErrors) }
}

/**
 * Writes the leads of an account's rows. Resolves with the outcome of each row. If a row already has errors,
 * its outcome is these errors. Adds the events to `events`. If `events` is undefined, records no events.
 */
export const writeLeadRows = async (
  deps: WriteLeadsDeps,
  tx: OpenTransaction,
  rows: ImportRow[],
  context: RowContext,
  events: OutboxEvent[] | undefined,
): Promise<RowOutcome[]> => {
  const items = rows.map(({ row }): CreateLead | undefined =>
    row?.$case === 'lead' ? { ...context, lead: row.value, idempotency: undefined } : undefined,
  )
  const leads = items.filter((item) => item !== undefined)
  // If no row has an external id, all leads are new and written together. The account then stays locked for a
  // few statements in total, and not for a few statements for each row.
  const write = leads.some(hasExternalId) ? writeInOrder : writeNewLeads
  const outcomes = await write(deps, tx, leads, events)
  return items.map((item, index): RowOutcome => {
    if (item) return describeOutcome(outcomes.get(item)!)
    const { row } = rows[index]!
    return { errors: row?.$case === 'errors' ? row.value : '{}' }
  })
}
