import type { CreateLead, ImportRow } from '@leadwire/contracts'
import type { OpenTransaction, ServiceError } from '@leadwire/service-kit'
import { invalidBy } from '../../arguments'
import type { OutboxEvent } from '../../outbox/record-events'
import { type CreateLeadsDeps, createAll, type Outcome } from './create-leads'
import { leadErrors } from './lead-arguments'

/** Writes the leads of rows. Resolves with the outcome of each, or the errors as JSON that it came with. */
export const createRows = async (
  deps: CreateLeadsDeps,
  tx: OpenTransaction,
  rows: ImportRow[],
  common: Pick<CreateLead, 'accountId' | 'actor' | 'traceparent'>,
  events: OutboxEvent[] | undefined,
): Promise<(Outcome | string)[]> => {
  const items = rows.map(({ row }): CreateLead | string =>
    row?.$case === 'lead' ? { ...common, lead: row.value, idempotency: undefined } : (row?.value ?? '{}'),
  )
  const refused = new Map<unknown, ServiceError>()
  for (const item of items) {
    const error = typeof item === 'string' ? undefined : invalidBy(leadErrors(item))
    if (error) refused.set(item, error)
  }
  const accepted = items.filter((item) => typeof item !== 'string' && !refused.has(item)) as CreateLead[]
  const outcomes = await createAll(deps, tx, accepted, events)
  const written = new Map<unknown, Outcome>(accepted.map((item, index) => [item, outcomes[index]!]))
  return items.map((item) => (typeof item === 'string' ? item : (refused.get(item) ?? written.get(item)!)))
}

/** The errors of a row as JSON; undefined where it was written. Throws what is no fault of the row. */
export const errorsOfRow = (outcome: Outcome | string): string | undefined => {
  if (typeof outcome === 'string') return outcome
  if (!('code' in outcome)) return undefined
  if (outcome.code !== 'invalid') throw outcome
  return JSON.stringify(outcome.fieldErrors)
}
