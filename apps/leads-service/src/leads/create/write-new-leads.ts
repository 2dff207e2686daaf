import type { CreateLead } from '@leadwire/contracts'
import {
  type BatcherMeters,
  type Logger,
  type OpenTransaction,
  ServiceError,
  statement,
} from '@leadwire/service-kit'
import { insertEvents, type OutboxEvent, type RecordingDeps } from '../../outbox/record-events'
import type { JsonSettings } from '../read/lead-response'
import { insertLeads } from './insert-leads'
import { numberLeads } from './number-leads'
import { type Limits, loadReferences, refuseBeyondDaily, refuseLead } from './refuse-leads'
import { type RenderedLead, renderNewLead } from './render-lead'

/** The dependencies of every operation that writes leads. */
export interface WriteLeadsDeps extends JsonSettings, RecordingDeps {
  limits: Limits
  logger: Logger
  meters?: BatcherMeters
}

/** A lead that was written, as the response shows it. */
export interface WrittenLead {
  /** {"data": Lead} */
  body: Buffer
  version: number
  /** Whether the lead is new. */
  created: boolean
  /** Whether the body was saved by an earlier request with the same idempotency key. */
  replayed: boolean
  reference: string
}

/** The result of a request for a lead: the written lead, or the reason why no lead was written. */
export type Outcome = WrittenLead | ServiceError

const setDated = statement('mark-dated-accounts')`
  UPDATE accounts SET has_dated_leads = true WHERE id = ANY ($1::bigint[]) AND NOT has_dated_leads`

/**
 * Marks the accounts of leads that have a creation time from an import. In a marked account, the shown
 * `created_at` does not rise with the number.
 */
const markDatedAccounts = (tx: OpenTransaction, leads: RenderedLead[]): void => {
  const dated = leads.filter(({ item }) => item.lead!.createdAt !== undefined)
  const accountIds = new Set(dated.map(({ item }) => item.accountId))
  if (accountIds.size > 0) setDated.send(tx, [...accountIds])
}

/**
 * Merges a lead's attributes (`before`) with the attributes of a request (`asked`). A null in the request
 * removes an attribute (RFC 7396). Both are JSON texts. If `asked` is undefined, no attributes remain.
 */
export const mergeAttributes = (
  before: string | undefined,
  asked: string | undefined,
): string | undefined => {
  if (asked === undefined) return undefined
  const merged = { ...JSON.parse(before ?? '{}'), ...JSON.parse(asked) }
  const kept = Object.entries(merged).filter(([, value]) => value !== null)
  return kept.length > 0 ? JSON.stringify(Object.fromEntries(kept)) : undefined
}

/**
 * Writes new leads with all their records and events. Resolves with the outcome of each lead. Writes nothing
 * for a refused lead. Locks tokens with a daily limit, and then accounts. Adds the events to `events`. If
 * `events` is undefined, as for an import without webhooks, records no events.
 */
export const writeNewLeads = async (
  deps: WriteLeadsDeps,
  tx: OpenTransaction,
  items: CreateLead[],
  events: OutboxEvent[] | undefined,
): Promise<Map<CreateLead, Outcome>> => {
  const outcomes = new Map<CreateLead, Outcome>()
  // Drops null values, because a new lead has no attribute to remove.
  for (const { lead } of items) lead!.attributes = mergeAttributes(undefined, lead!.attributes)
  const references = await loadReferences(tx, items, deps.assetsUrl)
  for (const item of items) {
    const refusal = refuseLead(item, references, deps.limits)
    if (refusal) outcomes.set(item, refusal)
  }
  const valid = items.filter((item) => !outcomes.has(item))
  for (const [item, limit] of await refuseBeyondDaily(tx, valid)) outcomes.set(item, limit)

  const accepted = items.filter((item) => !outcomes.has(item))
  if (accepted.length === 0) return outcomes
  const stamps = await numberLeads(tx, accepted)
  const settings = { references, jsonFormat: deps.jsonFormat, hasEvent: events !== undefined }
  const rendered: RenderedLead[] = []
  for (const [index, item] of accepted.entries()) {
    const stamp = stamps[index]
    if (stamp) rendered.push(renderNewLead(item, stamp, settings))
    else outcomes.set(item, new ServiceError('not_found', 'There is no such account.'))
  }

  insertLeads(tx, rendered)
  markDatedAccounts(tx, rendered)
  const recorded = rendered.flatMap(({ event }) => event ?? [])
  insertEvents(tx, recorded)
  events?.push(...recorded)
  for (const { item, body, lead } of rendered)
    outcomes.set(item, { body, version: 1, created: true, replayed: false, reference: lead.reference })
  return outcomes
}
