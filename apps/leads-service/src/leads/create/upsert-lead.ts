import type { CreateLead, UpsertLeadRequest, UpsertLeadResponse } from '@leadwire/contracts'
import {
  type FieldErrors,
  type OpenTransaction,
  resolveKeys,
  ServiceError,
  saveAnswers,
} from '@leadwire/service-kit'
import type { Dependencies } from '../../operation'
import type { OutboxEvent } from '../../outbox/record-events'
import { leadEtag, matchError } from '../read/lead-response'
import { changeLead } from './change-lead'
import { findByExternalId, lockExternalIds } from './lock-external-ids'
import { type Outcome, type WriteLeadsDeps, type WrittenLead, writeNewLeads } from './write-new-leads'

/** The public names of the fields that a new lead must have. */
const REQUIRED_FIELDS = [
  'name',
  'first_name',
  'last_name',
  'email',
  'phone',
  'postcode',
  'referrer',
  'status',
]

/** Returns an error if an upsert lacks fields that a new lead must have. */
const findMissingFields = (given: string[]): ServiceError | undefined => {
  const errors: FieldErrors = {}
  for (const field of REQUIRED_FIELDS)
    if (!given.includes(field)) errors[field] = [`The ${field.replaceAll('_', ' ')} field is required.`]
  return Object.keys(errors).length > 0 ? ServiceError.invalid(errors) : undefined
}

/**
 * Changes the lead that has the external id of `item`, or creates a lead if no lead has this id. Without
 * `upsert`, refuses an external id that a lead already has. Adds the event to `events`. If `events` is
 * undefined, records no event. Locks, in this order, the external id, the lead, the search progress and the
 * account.
 */
export const writeUpsert = async (
  deps: WriteLeadsDeps,
  tx: OpenTransaction,
  item: CreateLead,
  events: OutboxEvent[] | undefined,
): Promise<Outcome> => {
  const { upsert } = item.lead!
  lockExternalIds(tx, item.accountId, [item])
  const found = await findByExternalId(tx, item)
  if (found && upsert) return changeLead(deps, tx, { item, upsert, found, events })
  if (found) return ServiceError.invalid({ external_id: ['The external id has already been taken.'] })
  const refusal = upsert && (matchError(upsert.ifMatch, undefined) ?? findMissingFields(upsert.given))
  if (refusal) return refusal
  const outcomes = await writeNewLeads(deps, tx, [item], events)
  return outcomes.get(item)!
}

/** Writes an upsert under its idempotency key, if it has one. Throws the error of a refused lead. */
const writeUnderKey = async (
  deps: WriteLeadsDeps,
  tx: OpenTransaction,
  item: CreateLead,
  events: OutboxEvent[],
): Promise<WrittenLead> => {
  const { idempotency: asked } = item
  const [saved] = await resolveKeys(tx, [asked])
  if (saved instanceof ServiceError) throw saved
  if (saved) return { ...saved, version: 1, created: true, reference: '' }
  const outcome = await writeUpsert(deps, tx, item, events)
  if (outcome instanceof ServiceError) throw outcome
  const { body, reference: leadReference } = outcome
  if (asked) saveAnswers(tx, [{ asked, body, leadReference }])
  return outcome
}

/**
 * Changes the lead that has an external id, or creates this lead. Publishes the event. Throws the error of a
 * refused lead.
 */
export const upsertLead = async (
  deps: WriteLeadsDeps & Pick<Dependencies, 'actor'>,
  request: UpsertLeadRequest,
): Promise<UpsertLeadResponse> => {
  const item: CreateLead = { ...request, actor: deps.actor }
  const events: OutboxEvent[] = []
  const written = await deps.database.transaction((tx) => writeUnderKey(deps, tx, item, events))
  deps.onCommitted(events)
  const { body, version, created, replayed } = written
  return { body, etag: leadEtag(version, deps.jsonFormat), created, replayed }
}
